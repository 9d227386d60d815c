"""One solution: each error says what was wrong, and what there is."""

FREE = {"Blue": [9, 14, 15], "Green": [10]}  # the free hours of each room


def book_room(room: str, hour: int) -> str:
    """Book a meeting room for one hour. Books at once.

    Args:
        room: the name of the room, for example "Blue".
        hour: the hour at which the meeting begins, 0 to 23.
    """
    if room not in FREE:
        raise ValueError(f"there is no room {room}; the rooms are {', '.join(FREE)}")
    if hour not in FREE[room]:
        raise ValueError(f"{room} is taken at {hour}; it is free at {FREE[room]}")
    return f"booked {room} at {hour}"
