"""What a prepared data set holds."""


def everything(builder):
    """All records by id, as Python sees them."""
    sources = builder.as_data_source()
    return {record["id"].decode(): record for source in sources.values() for record in source}


def splits_of_people(builder):
    """The split of each person."""
    sources = builder.as_data_source()
    return {
        record["subject"].decode(): split for split, source in sources.items() for record in source
    }
