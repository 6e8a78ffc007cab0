"""Remedies for stuck groups, shared by the console and the resource commands; pure.

    moves     a group at other offsets, and back
    replays   copies of dead letters

The console finds offsets and messages in its broker's tables, the commands query servers for them. Both then
follow these rules.
"""
