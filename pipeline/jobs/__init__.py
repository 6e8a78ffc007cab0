"""Jobs that are ready to run; `mqgateway pipeline` is their command line, and each is a plain function too.

session       a Spark session that finds our formats; `progress` what a stream is doing, `report` the end
archive       topics to Parquet, by topic and day, exactly once
replay        Parquet to a topic, with keys, order and timing
orders        an example: orders a minute and shop, to Parquet and back to a topic
traffic       what a store on disk tells of its traffic, and how far its groups lag; `picture` draws it
"""
