"""What reads of one very large view take, of shapes that are as dear as the door admits."""
