"""Areas of shapes."""


def area(width: float, height: float) -> float:
    """Return the area of a rectangle."""
    return width * height


def describe(width: float, height: float) -> str:
    """Return a sentence about a rectangle."""
    result = area(width, height)
    return f"{width} x {height} = {result}"
