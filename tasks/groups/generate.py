"""Make vessels.csv: six vessels of hot water that cool in one room, by Newton's law.

Python's own random numbers, so that every version draws the same: python generate.py
"""

from __future__ import annotations

import math
import random
from pathlib import Path

ROOM = 21.4  # °C
NOISE = 0.25  # °C, of the thermometer
# Temperature at the beginning (°C) and rate of cooling (1/min) of each vessel.
VESSELS = {
    "beaker": (88.0, 0.058),
    "cup": (83.5, 0.041),
    "flask": (91.0, 0.0067),
    "kettle": (96.5, 0.019),
    "mug": (85.0, 0.033),
    "pan": (94.0, 0.027),
}
READINGS = 30


def main() -> None:
    """Write the data."""
    draw = random.Random(1701)  # noqa: S311 - noise, no secret
    lines = ["vessel,minutes,temperature"]
    for vessel, (start, rate) in VESSELS.items():
        for _ in range(READINGS):
            minutes = round(draw.uniform(0, 90), 1)
            exact = ROOM + (start - ROOM) * math.exp(-rate * minutes)
            lines.append(f"{vessel},{minutes},{exact + draw.gauss(0, NOISE):.2f}")
    Path(__file__).with_name("vessels.csv").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
