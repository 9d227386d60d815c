"""A tool that a model will misunderstand. It runs; but look at it as a stranger would.

The shop sends parcels: one to ten pieces of a SKU, in one of the sizes "small", "medium" and
"large". A model that is asked to "send three of A1 in a big box" knows only what this signature
and this docstring say. Improve them:

    quantity    is a whole number from 1 to 10: the function should never see "three", and it
                raises a ValueError for 0 or 11
    size        is one of three words, and "medium" where the model does not say
    docstring   says what the tool does, that it cannot be undone, and what each parameter means
                (how many pieces are allowed, too)

    python3 check.py
"""


def send_parcel(sku: str, quantity: str, size: str) -> str:
    """Parcel."""
    return f"sent {quantity} of {sku}, {size}"
