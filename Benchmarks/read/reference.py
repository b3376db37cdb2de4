"""RapidOCR as a function from an array (blue, green, red) to lines: text, confidence, corners."""


def reader(generation, threads, engine="onnxruntime"):
    if generation == "v4":
        if engine == "openvino":
            from rapidocr_openvino import RapidOCR
            built = RapidOCR(inference_num_threads=threads)
        else:
            from rapidocr_onnxruntime import RapidOCR
            built = RapidOCR(intra_op_num_threads=threads, inter_op_num_threads=1)

        def read(array):
            found, _ = built(array)
            return [(text, float(score), [list(map(float, corner)) for corner in corners]) for corners, text, score in found or []]
        return read
    from rapidocr import EngineType, RapidOCR
    kind = {"openvino": EngineType.OPENVINO, "onnxruntime": EngineType.ONNXRUNTIME}[engine]
    settings = {f"{part}.engine_type": kind for part in ["Det", "Cls", "Rec"]}
    settings |= {"EngineConfig.onnxruntime.intra_op_num_threads": threads, "EngineConfig.openvino.inference_num_threads": threads}
    built = RapidOCR(params=settings | {"Global.log_level": "error"})

    def read(array):
        found = built(array)
        if found.txts is None:
            return []
        return [(text, float(score), corners.tolist()) for text, score, corners in zip(found.txts, found.scores, found.boxes)]
    return read
