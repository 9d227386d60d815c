"""One solution: what should be there is noted first, and compared with what is."""


def make_accept(world):
    wanted = sorted(world["archive"] + world["inbox"])

    def accept(run):
        left = sorted(world["inbox"])
        lost = [name for name in wanted if name not in world["archive"] + left]
        if left:
            return f"still in the inbox: {', '.join(left)}; move them to the archive"
        if lost:
            return f"neither in the inbox nor in the archive: {', '.join(lost)}"
        return None

    return accept
