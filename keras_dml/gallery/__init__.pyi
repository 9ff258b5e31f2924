from .backups import accept_older as accept_older
from .backups import backup as backup
from .backups import restore as restore
from .boundary import Boundary as Boundary
from .completeness import Completeness as Completeness
from .device import DeviceGallery as DeviceGallery
from .device import export_tflite as export_tflite
from .gallery import Gallery as Gallery
from .listening import Heard as Heard
from .listening import Listening as Listening
from .maintenance import check as check
from .maintenance import exists as exists
from .maintenance import forget as forget
from .maintenance import info as info
from .maintenance import list_recordings as list_recordings
from .maintenance import list_rejections as list_rejections
from .maintenance import people as people
from .maintenance import purge as purge
from .maintenance import remove as remove
from .maintenance import remove_threshold as remove_threshold
from .maintenance import rename as rename
from .maintenance import states as states
from .maintenance import thresholds as thresholds
from .maintenance import unreject as unreject
from .mean_template import MeanTemplate as MeanTemplate
from .proposals import Proposal as Proposal
from .proposals import Proposals as Proposals
from .results import Candidate as Candidate
from .results import Decision as Decision
from .results import Enrollment as Enrollment
from .results import GalleryInfo as GalleryInfo
from .results import GroupRate as GroupRate
from .results import Identification as Identification
from .results import Scale as Scale
from .results import Source as Source
from .results import StoredRecording as StoredRecording
from .results import Threshold as Threshold
from .store import hide_password as hide_password
from .strangers import Stranger as Stranger
from .strangers import Strangers as Strangers
from .tries import TooManyTries as TooManyTries
from .tries import Tries as Tries
from .web import WebSite as WebSite
from .web import export_web as export_web

__all__ = [
    "Boundary",
    "Candidate",
    "Completeness",
    "Decision",
    "DeviceGallery",
    "Enrollment",
    "Gallery",
    "GalleryInfo",
    "GroupRate",
    "Heard",
    "Identification",
    "Listening",
    "MeanTemplate",
    "Proposal",
    "Proposals",
    "Scale",
    "Source",
    "StoredRecording",
    "Stranger",
    "Strangers",
    "Threshold",
    "TooManyTries",
    "Tries",
    "WebSite",
    "accept_older",
    "backup",
    "check",
    "exists",
    "export_tflite",
    "export_web",
    "forget",
    "hide_password",
    "info",
    "list_recordings",
    "list_rejections",
    "people",
    "purge",
    "remove",
    "remove_threshold",
    "rename",
    "restore",
    "states",
    "thresholds",
    "unreject",
]
