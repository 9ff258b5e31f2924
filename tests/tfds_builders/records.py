"""Functions that read the records and the splits of a prepared data set."""


def everything(builder):
    """Returns a dict from the id of each record to the record, for all splits."""
    sources = builder.as_data_source()
    return {record["id"].decode(): record for source in sources.values() for record in source}


def splits_of_people(builder):
    """Returns a dict from each person to the split that has the person's records."""
    sources = builder.as_data_source()
    return {
        record["subject"].decode(): split for split, source in sources.items() for record in source
    }
