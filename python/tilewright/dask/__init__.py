"""Dask: Arrays as the chunks of its arrays, and a cluster with a worker for each device.

Importing this package registers Arrays in Dask's tables, and how they travel between workers.
"""

from tilewright.dask import chunks as chunks
from tilewright.dask import transfer as transfer
from tilewright.dask.cluster import LocalCluster
from tilewright.dask.scheduler import get

__all__ = ["LocalCluster", "get"]
