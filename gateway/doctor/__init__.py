"""Why a consumer group is stuck: what is known of it, and checks that find the cause; pure."""
