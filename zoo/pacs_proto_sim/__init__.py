"""A classifier of photographs, paintings, cartoons and sketches of seven classes."""
