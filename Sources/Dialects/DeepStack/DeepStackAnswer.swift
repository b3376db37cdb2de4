internal import HTTPServer
internal import HTTPWire
internal import ImagePipeline
internal import Inference
internal import JSON
internal import Observations

/// Parts of answers in the form of DeepStack and CodeProject.AI.
enum DeepStackAnswer {
    /// An answer of success.
    /// - Parameter members: writes the answer's own members.
    static func success(_ members: (inout JSONWriter) -> Void) -> HTTPResponse {
        var writer = JSONWriter(capacity: 256)
        writer.object { writer in
            writer.member("success", true)
            members(&writer)
            writer.member("code", 200)
        }
        return HTTPResponse(status: .ok, fields: [("Content-Type", "application/json")], body: writer.bytes)
    }

    /// Writes the corners of a detection's box in whole pixels, as members of the open object.
    static func write(
        _ box: PictureMap.Rectangle, of result: ObservationResult, to writer: inout JSONWriter
    ) {
        let (width, height) = (result.displayed.width, result.displayed.height)
        writer.member("x_min", pixel(box.x, maximum: width))
        writer.member("y_min", pixel(box.y, maximum: height))
        writer.member("x_max", pixel(box.x + box.width, maximum: width))
        writer.member("y_max", pixel(box.y + box.height, maximum: height))
    }

    /// The nearest whole pixel within the picture.
    private static func pixel(_ place: Double, maximum: Int) -> Int {
        place.isFinite ? Int(min(max(place.rounded(), 0), Double(max(maximum, 0)))) : 0
    }
}
