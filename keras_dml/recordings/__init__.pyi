from ._columns import Columns as Columns
from ._columns import read_columns as read_columns
from ._formats import check_file as check_file
from ._formats import format_names as format_names
from ._formats import import_libraries as import_libraries
from ._formats import is_recording as is_recording
from ._formats import suffixes as suffixes
from ._people import Listed as Listed
from ._people import Listing as Listing
from ._people import folder as folder
from ._people import groups as groups
from ._read import read as read
from ._read import read_pieces as read_pieces
from ._recording import Recording as Recording
from ._times import UnevenTimesError as UnevenTimesError
from ._times import is_same_rate as is_same_rate
from ._units import convert as convert

__all__ = [
    "Columns",
    "Listed",
    "Listing",
    "Recording",
    "UnevenTimesError",
    "check_file",
    "convert",
    "folder",
    "format_names",
    "groups",
    "import_libraries",
    "is_recording",
    "is_same_rate",
    "read",
    "read_columns",
    "read_pieces",
    "suffixes",
]
