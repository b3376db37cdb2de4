// Raw output tensors to what is seen in a picture: boxes, masks, keypoints, embeddings. Knows no engine and no HTTP.
