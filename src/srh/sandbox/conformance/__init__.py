"""What a locked-down process must not be able to do, and what it must: each thing tried for real.

Every attempt runs twice in a process of its own: once free, where it has to succeed (or the attempt
shows nothing), and once locked down, where it has to end as stated.
"""
