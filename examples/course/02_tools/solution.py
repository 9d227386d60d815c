"""One solution: the types say what can be sent, the docstring says what it means."""

from typing import Literal


def send_parcel(
    sku: str, quantity: int, size: Literal["small", "medium", "large"] = "medium"
) -> str:
    """Send one parcel to the customer at once. This cannot be undone.

    Args:
        sku: the product's SKU, for example "A1".
        quantity: the number of pieces, 1 to 10.
        size: the size of the box; medium holds up to five pieces.
    """
    if not 1 <= quantity <= 10:
        raise ValueError(f"a parcel holds 1 to 10 pieces, not {quantity}")
    return f"sent {quantity} of {sku}, {size}"
