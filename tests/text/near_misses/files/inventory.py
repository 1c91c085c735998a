"""Keeps what is in stock, and what was ordered."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, field
from pathlib import Path

log = logging.getLogger(__name__)

MINIMUM = 3


@dataclass
class Item:
    """Something in stock."""

    name: str
    price: float
    amount: int = 0
    tags: list[str] = field(default_factory=list)

    def value(self) -> float:
        """What all pieces are worth."""
        return self.price * self.amount


class Stock:
    """All items, by name."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.items: dict[str, Item] = {}

    def load(self) -> None:
        """Read all items from the file."""
        with self.path.open(encoding="utf-8") as file:
            data = json.load(file)
        for entry in data["items"]:
            item = Item(**entry)
            self.items[item.name] = item
        log.info("loaded %d items from %s", len(self.items), self.path)

    def save(self) -> None:
        """Write all items to the file."""
        data = {"items": [vars(item) for item in self.items.values()]}
        with self.path.open("w", encoding="utf-8") as file:
            json.dump(data, file, indent=2)
        log.info("saved %d items to %s", len(self.items), self.path)

    def add(self, name: str, amount: int) -> None:
        """Put more of an item into stock."""
        item = self.items[name]
        if amount <= 0:
            raise ValueError("the amount must be positive")
        item.amount += amount
        self.save()

    def take(self, name: str, amount: int) -> None:
        """Take some of an item out of stock."""
        item = self.items[name]
        if amount > item.amount:
            raise ValueError("there are not so many in stock")
        item.amount -= amount
        self.save()

    def low(self) -> list[Item]:
        """Which items should be ordered."""
        return [item for item in self.items.values() if item.amount < MINIMUM]


def report(stock: Stock) -> str:
    """One line for each item, the most valuable first."""
    lines = []
    for item in sorted(stock.items.values(), key=Item.value, reverse=True):
        mark = "!" if item.amount < MINIMUM else " "
        lines.append(f"{mark} {item.name:<20} {item.amount:>5} {item.value():>10.2f}")

    total = sum(item.value() for item in stock.items.values())
    lines.append(f"  {'total':<20} {'':>5} {total:>10.2f}")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Show the report of the stock that is named."""
    stock = Stock(Path(arguments[0]))
    stock.load()
    print(report(stock))
    return 0
