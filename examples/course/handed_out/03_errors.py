"""A tool that fails in a way nobody can use. Make its errors ones that a model can act on.

book_room(room, hour) books a meeting room for one hour. Two things may be wrong: there is no such
room, or the room is taken at that hour. As it stands, both give "error", as if that were a
booking: the run counts the step as ok.

Raise an error (a ValueError, say) instead, whose text says

    what was wrong       the room or the hour that was asked for
    what there is        the rooms that exist; the hours at which this room is free

    python3 check.py
"""

FREE = {"Blue": [9, 14, 15], "Green": [10]}  # the free hours of each room


def book_room(room: str, hour: int) -> str:
    """Book a meeting room for one hour. Books at once.

    Args:
        room: the name of the room, for example "Blue".
        hour: the hour at which the meeting begins, 0 to 23.
    """
    try:
        FREE[room].index(hour)
    except Exception:
        return "error"
    return f"booked {room} at {hour}"
