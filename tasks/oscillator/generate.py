"""Make context.data: a damped pendulum, swinging from 2.6 rad, with a noisy sensor.

Integrated by a classical Runge-Kutta step of 1/2000 s, noise by Python's own random numbers, so
that every version makes the same: python generate.py
"""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import numpy as np

GRAVITY, LENGTH, DAMPING = 9.81, 0.62, 0.11  # m/s², m, 1/s
START = 2.6, 0.0  # rad, rad/s
NOISE = {"angle": 0.002, "x": 0.005, "dx_dt": 0.05}
READINGS, EVERY, STEP = 400, 100, 1 / 2000  # one reading each 0.05 s

TOLD = {
    "t": ("time since the pendulum was let go", "s"),
    "angle": ("angle to the vertical, 0 below", "rad"),
    "x": ("angular velocity", "rad/s"),
    "dx_dt": ("angular acceleration", "rad/s^2"),
}


def acceleration(angle: float, velocity: float) -> float:
    """Return the angular acceleration in rad/s^2."""
    return -GRAVITY / LENGTH * math.sin(angle) - DAMPING * velocity


def step(angle: float, velocity: float) -> tuple[float, float]:
    """Return angle and velocity one step later."""
    half = STEP / 2
    k1 = velocity, acceleration(angle, velocity)
    k2 = velocity + half * k1[1], acceleration(angle + half * k1[0], velocity + half * k1[1])
    k3 = velocity + half * k2[1], acceleration(angle + half * k2[0], velocity + half * k2[1])
    k4 = velocity + STEP * k3[1], acceleration(angle + STEP * k3[0], velocity + STEP * k3[1])
    return (
        angle + STEP / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0]),
        velocity + STEP / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1]),
    )


def main() -> None:
    """Write the data."""
    draw = random.Random(1673)  # noqa: S311 - noise, no secret
    readings: dict[str, list[float]] = {name: [] for name in TOLD}
    angle, velocity = START
    for reading in range(READINGS):
        exact = {"angle": angle, "x": velocity, "dx_dt": acceleration(angle, velocity)}
        readings["t"].append(reading * EVERY * STEP)
        for name, value in exact.items():
            readings[name].append(round(value + draw.gauss(0, NOISE[name]), 5))
        for _ in range(EVERY):
            angle, velocity = step(angle, velocity)
    folder = Path(__file__).with_name("context.data")
    folder.mkdir(exist_ok=True)
    for name, values in readings.items():
        np.save(folder / f"{name}.npy", np.array(values))
    manifest = {
        "variables": {
            name: {"file": f"{name}.npy", "description": text, "axes": ["t"], "unit": unit}
            for name, (text, unit) in TOLD.items()
        },
        "axes": {"t": {"description": "readings, in order of time", "file": "t.npy"}},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
