"""Raw measurements judged before they are smoothed."""
