"""Data: what a task declares, the loaded table, its partitions, and the context of an agent."""

from __future__ import annotations

from srh.context.agent_context import AgentContext, Splitter, check_split
from srh.context.columns import Columns
from srh.context.context_data import (
    ContextData,
    ContextReport,
    digest_data,
    inspect_context_data,
    load_context_data,
)
from srh.context.context_writer import import_table, write_context_data
from srh.context.data import Dataset, DataSpec
from srh.context.holdout import HoldoutSpec, development_rows, holdout_problems, holdout_rows
from srh.context.loaders import PICKLE_SUFFIXES, load_dataset
from srh.context.partition_check import Partition, check_partitions
from srh.context.partitions import PartitionSpec, make_partitions, partition_problems
from srh.context.split_options import SplitOptions
from srh.context.structured import Structured

__all__ = [
    "PICKLE_SUFFIXES",
    "AgentContext",
    "Columns",
    "ContextData",
    "ContextReport",
    "DataSpec",
    "Dataset",
    "HoldoutSpec",
    "Partition",
    "PartitionSpec",
    "SplitOptions",
    "Splitter",
    "Structured",
    "check_partitions",
    "check_split",
    "development_rows",
    "digest_data",
    "holdout_problems",
    "holdout_rows",
    "import_table",
    "inspect_context_data",
    "load_context_data",
    "load_dataset",
    "make_partitions",
    "partition_problems",
    "write_context_data",
]
