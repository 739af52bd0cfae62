"""Why a site differs, and when it moves."""

from .drift import Track, track
from .site_difference import SiteDifference, site_difference

__all__ = ["SiteDifference", "Track", "site_difference", "track"]
