#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Draws the offers of `pleat capacity --json`: days against dollars, both with 9 chances of 10.

usage: pleat capacity … --json | draw_offers.py > offers.svg

A dot is a cluster and a size; the line from it leads to the median. The black line joins the offers that
no other beats in both. The deadline is dashed.
"""
import html
import json
import math
import sys

WIDTH, HEIGHT = 860, 470
LEFT, RIGHT, TOP, BOTTOM = 74, 24, 64, 58
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")  # told apart by colour-blind readers


class Axis:
    """Logarithmic from `low` to `high`, drawn from `begin` to `end`."""

    def __init__(self, values, begin, end):
        self.low, self.high = min(values) * 0.9, max(values) * 1.12
        self.begin, self.end = begin, end

    def at(self, value):
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.begin + share * (self.end - self.begin)

    def ticks(self):
        steps = [factor * 10 ** power for power in range(-4, 6) for factor in (1, 1.5, 2, 3, 4, 5, 6, 7, 8, 10)]
        return sorted({step for step in steps if self.low <= step <= self.high})


def text(x, y, words, anchor="middle", size=13, colour="#333", more=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{colour}"{more}>'
            f"{html.escape(words)}</text>")


def line(x1, y1, x2, y2, colour, more=""):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"{more}/>'


def draw(answer):
    offers = [dict(offer["booking"], cluster=offer["cluster"], gpus=offer["gpus"], index=index)
              for index, offer in enumerate(answer["offers"]) if offer.get("booking")]
    clusters = list(dict.fromkeys(offer["cluster"] for offer in offers))
    colour = dict(zip(clusters, COLOURS))
    days = Axis([offer["days"][key] for offer in offers for key in ("p50", "p90")], LEFT, WIDTH - RIGHT)
    cost = Axis([offer["dollars"][key] / 1e6 for offer in offers for key in ("p50", "p90")],
                HEIGHT - BOTTOM, TOP)

    def place(offer, key):
        return days.at(offer["days"][key]), cost.at(offer["dollars"][key] / 1e6)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
             f'height="{HEIGHT}" font-family="system-ui, sans-serif">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
             text(LEFT, 26, f"{answer['model']}, {answer['tokens'] / 1e12:g}T tokens: what to book", "start", 17,
                  "#111")]
    x = LEFT
    for cluster in clusters:
        parts += [f'<circle cx="{x + 6:.1f}" cy="45" r="5" fill="{colour[cluster]}"/>',
                  text(x + 16, 49, cluster, "start")]
        x += 36 + 7.5 * len(cluster)
    parts.append(text(x + 8, 49, "numbers: GPUs; dot: 9 chances in 10; far end of its line: 1 in 2", "start", 12, "#666"))
    for tick in days.ticks():
        at = days.at(tick)
        parts += [line(at, TOP, at, HEIGHT - BOTTOM, "#e5e5e5"), text(at, HEIGHT - BOTTOM + 18, f"{tick:g}")]
    for tick in cost.ticks():
        at = cost.at(tick)
        parts += [line(LEFT, at, WIDTH - RIGHT, at, "#e5e5e5"), text(LEFT - 8, at + 4, f"{tick:g}", "end")]
    parts += [text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, "days"),
              text(20, HEIGHT / 2, "million USD", more=f' transform="rotate(-90 20 {HEIGHT / 2})"')]
    if answer.get("deadline_days") and days.low < answer["deadline_days"] < days.high:
        at = days.at(answer["deadline_days"])
        parts += [line(at, TOP, at, HEIGHT - BOTTOM, "#888", ' stroke-dasharray="5 4"'),
                  text(at + 6, TOP + 14, "deadline", "start", 12, "#666")]
    front = [place(offer, "p90") for index in answer["front"] for offer in offers if offer["index"] == index]
    parts.append(f'<polyline points="{" ".join(f"{px:.1f},{py:.1f}" for px, py in front)}" fill="none" '
                 'stroke="#222" stroke-width="1.5"/>')
    for offer in offers:
        label_x = -10 if offer["days"]["p90"] > 0.8 * days.high else 10
        at, median = place(offer, "p90"), place(offer, "p50")
        parts += [line(*median, *at, colour[offer["cluster"]], ' stroke-width="2" opacity="0.55"'),
                  f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="6" fill="{colour[offer["cluster"]]}"/>',
                  text(at[0] + label_x, at[1] - 8, str(offer["gpus"]), "start" if label_x > 0 else "end", 12)]
    best = [place(offer, "p90") for offer in offers if offer["index"] == answer["cheapest"]]
    for px, py in best:
        parts += [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="11" fill="none" stroke="#222" stroke-width="1.5"/>',
                  text(px + 14, py + 17, "cheapest by the deadline", "start", 12, "#111")]
    return "\n".join(parts + ["</svg>"])


if __name__ == "__main__":
    print(draw(json.load(sys.stdin)))
