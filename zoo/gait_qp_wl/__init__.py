"""Who is walking, from one foot's sensor."""
