

def trainable(bundle):
    """train/, a SavedModel as TensorIO's own cats-vs-dogs-train: a picture and a label in, Adam's step `train`, the loss out."""
    path = f"{FOLDER}/{bundle}/train"
    shutil.rmtree(path, ignore_errors=True)
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        image = v1.placeholder(F32, [None, 16, 16, 3], name="image")
        labels = v1.placeholder(I32, [None, 1], name="labels")
        rate = v1.placeholder_with_default(tf.constant(0.01), [], name="learning_rate")
        random = tf.random_normal_initializer(0, 0.2, seed=7)
        kernel = v1.get_variable("conv/kernel", [3, 3, 3, 4], initializer=random)
        weights = v1.get_variable("logit/kernel", [4 * 7 * 7, 1], initializer=random)
        bias = v1.get_variable("logit/bias", [1], initializer=tf.zeros_initializer())
        hidden = tf.nn.relu(tf.nn.conv2d(image, kernel, 2, "VALID"))
        logits = tf.matmul(tf.reshape(hidden, [-1, 4 * 7 * 7]), weights) + bias
        tf.sigmoid(logits, name="sigmoid")
        loss = v1.losses.sigmoid_cross_entropy(labels, logits)
        v1.train.AdamOptimizer(rate).minimize(loss, name="train")
        session.run(v1.global_variables_initializer())
        builder = v1.saved_model.Builder(path)
        signature = v1.saved_model.signature_def_utils.build_signature_def(
            {name: v1.saved_model.utils.build_tensor_info(value) for name, value in (("image", image), ("labels", labels))},
            {"loss": v1.saved_model.utils.build_tensor_info(loss)}, "tensorflow/supervised/training")
        builder.add_meta_graph_and_variables(session, ["train"], {"train": signature}, clear_devices=True)
        builder.save()
    if os.path.exists(f"{path}/fingerprint.pb"):
        os.remove(f"{path}/fingerprint.pb")


trainable("tensorflow-train.tiobundle")
