"""Provides network architectures, and models that define their own training step. Importing this
package registers the layers that the models use.
"""

from keras_dml.models.adversarial_training import AdversarialTraining
from keras_dml.models.conv4 import conv4
from keras_dml.models.copies import with_solver
from keras_dml.models.efficientnet_lite import efficientnet_lite0
from keras_dml.models.eye_velocity import eye_velocity_network, eye_velocity_part
from keras_dml.models.ge2e import ge2e
from keras_dml.models.grad_cache import GradCache
from keras_dml.models.input_contract import with_contract
from keras_dml.models.lenet import lenet
from keras_dml.models.potato_network import PotatoNetwork
from keras_dml.models.prototypical_classifier import PrototypicalClassifier
from keras_dml.models.resnet12 import resnet12
from keras_dml.models.resnet50 import resnet50
from keras_dml.models.sequence_encoder import sequence_encoder
from keras_dml.models.spdnet import spdnet
from keras_dml.models.thresholding_cnn import thresholding_cnn
from keras_dml.models.wide_resnet import wide_resnet
from keras_dml.models.xvector import xvector

__all__ = [
    "AdversarialTraining",
    "GradCache",
    "PotatoNetwork",
    "PrototypicalClassifier",
    "conv4",
    "efficientnet_lite0",
    "eye_velocity_network",
    "eye_velocity_part",
    "ge2e",
    "lenet",
    "resnet12",
    "resnet50",
    "sequence_encoder",
    "spdnet",
    "thresholding_cnn",
    "wide_resnet",
    "with_contract",
    "with_solver",
    "xvector",
]
