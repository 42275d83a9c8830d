"""Data: what a task declares, the loaded table, its partitions, and the context of an agent."""

from __future__ import annotations

from srh.context.agent_context import AgentContext, SplitOptions, Splitter, check_split
from srh.context.data import Dataset, DataSpec
from srh.context.holdout import HoldoutSpec, development_rows, holdout_problems, holdout_rows
from srh.context.loaders import PICKLE_SUFFIXES, load_dataset
from srh.context.partition_check import Partition, check_partitions
from srh.context.partitions import PartitionSpec, make_partitions, partition_problems

__all__ = [
    "PICKLE_SUFFIXES",
    "AgentContext",
    "DataSpec",
    "Dataset",
    "HoldoutSpec",
    "Partition",
    "PartitionSpec",
    "SplitOptions",
    "Splitter",
    "check_partitions",
    "check_split",
    "development_rows",
    "holdout_problems",
    "holdout_rows",
    "load_dataset",
    "make_partitions",
    "partition_problems",
]
