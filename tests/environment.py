"""Environment variables of the tests, set when this module is imported.

TensorFlow, matplotlib and NumPy read the environment variables when they are first imported.
"""

import importlib.metadata
import os
import pathlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("MPLBACKEND", "agg")
# As many tests run at once as there are cores, so a second thread of linear algebra would only
# wait.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
# The tests also load the models of `zoo/papers` by name. One of these models has short recordings,
# so tests with this model are fast.
PAPERS = pathlib.Path(__file__).resolve().parents[1] / "zoo" / "papers"
os.environ.setdefault("KERAS_DML_ZOO", str(PAPERS))


def keras_backend():
    return os.environ.get("KERAS_BACKEND", "tensorflow")


# Compiled programs run only once or twice in tests, so optimizing them costs more than it saves: a
# tenth of the time of all tests on TensorFlow, and memory. The flags are set only for versions that
# support them, because TensorFlow ends the process if it does not know a flag.
KNOWN_TENSORFLOW = any(
    distribution.version.startswith("2.21.")
    for name in ("tensorflow", "tensorflow-cpu")
    for distribution in importlib.metadata.distributions(name=name)
)
if keras_backend() == "tensorflow" and KNOWN_TENSORFLOW:
    os.environ.setdefault(
        "XLA_FLAGS",
        "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
        " --xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1",
    )
