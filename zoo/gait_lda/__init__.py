"""Who is walking, from one foot's sensor, without training steps."""
