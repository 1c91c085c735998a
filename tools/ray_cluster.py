"""Runs a Ray cluster on this machine until standard input ends: `python -m tools.ray_cluster OTHER-NODES`.

Prints one line of JSON once it is up: the address, and the process of each node beside the head. It needs the
variables of `ENVIRONMENT`, and so do the programs that join it.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module  # tests import the variables without Ray
from typing import Any

# Metrics and workers in advance take a third of what a cluster costs. The last one lets Ray use the loopback
# address alone; a driver needs it, too, because Ray translates 127.0.0.1 into another address without it.
ENVIRONMENT = dict.fromkeys(
    (
        "RAY_USAGE_STATS_ENABLED", "RAY_enable_metrics_collection", "RAY_enable_worker_prestart",
        "RAY_prestart_worker_first_driver", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER",
    ), "0",
)  # fmt: skip


def main(others: int) -> None:
    """Run a head, which works too, and other nodes; each has one processor."""
    node: dict[str, Any] = {"num_cpus": 1, "include_log_monitor": False, "object_store_memory": 100 << 20}
    cluster = import_module("ray.cluster_utils").Cluster(
        initialize_head=True, head_node_args={**node, "include_dashboard": False, "no_monitor": True}
    )
    nodes = [cluster.add_node(**node) for _ in range(others)]
    cluster.wait_for_nodes()
    pids = [each.all_processes["raylet"][0].process.pid for each in nodes]
    print(json.dumps({"address": cluster.address, "raylets": pids}), flush=True)
    sys.stdin.read()
    cluster.shutdown()


if __name__ == "__main__":
    main(int(sys.argv[1]))
