internal import ImagePipeline

/// Reads a depth map, and maps it to the picture.
struct DepthReader {
    let output: OutputPlan
    /// The geometry of the picture that the model saw.
    let sent: PictureReturn

    /// - Parameter raw: the engine's memory.
    func map(_ shape: Shape, _ raw: UnsafeRawBufferPointer) throws(InferenceError) -> DepthMap {
        let name = output.description.name
        guard let plane = shape.plane else {
            throw .engine(
                EngineError(
                    kind: .failure, operation: "read output \"\(name)\"",
                    detail: "expected a number for each position, found the shape \(shape)"))
        }
        guard sent.isWhole else {
            throw .invalidInput(
                name: "crop",
                reason:
                    "the model would see only a part of the picture, and there is no depth for the rest: ask for all of it (crop=fill or crop=fit)"
            )
        }
        let part = sent.shown(of: ImageSize(width: plane.width, height: plane.height))
        let reader = ScoreReader(
            elementType: output.description.elementType, linear: output.linear, activation: nil)
        let values = reader.withScores(raw) { values -> [Float]? in
            guard values.count == plane.width * plane.height else { return nil }
            var shown: [Float] = []
            shown.reserveCapacity(part.x.count * part.y.count)
            for row in part.y {
                shown += values[row * plane.width + part.x.lowerBound..<row * plane.width + part.x.upperBound]
            }
            return shown
        }
        guard let values else {
            throw .engine(
                EngineError(
                    kind: .failure, operation: "read output \"\(name)\"",
                    detail: "its memory has \(raw.count) bytes, its shape is \(shape)"))
        }
        let size = sent.displayed
        guard
            let map = DepthMap(
                columns: part.x.count, rows: part.y.count, values: values, width: size.width, height: size.height)
        else { throw .invalidOutput(name: name, reason: "a depth is not a number, or is infinite") }
        return map
    }
}
