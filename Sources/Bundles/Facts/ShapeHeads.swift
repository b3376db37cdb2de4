internal import EngineAPI
internal import ModelFacts
internal import Observations

/// Recognizes points and masks that no source names, by the shape of the only output.
extension HeadReading {
    /// COCO's points of a person, in their order.
    private static let pointsOfPerson = [
        "nose", "left eye", "right eye", "left ear", "right ear", "left shoulder", "right shoulder", "left elbow",
        "right elbow", "left wrist", "right wrist", "left hip", "right hip", "left knee", "right knee", "left ankle",
        "right ankle",
    ]

    /// MoveNet's points of one person: `[1, 1, 17, 3]`.
    static func person(_ ports: OutputPorts) -> HeadReading? {
        guard ports.all.count == 1, let port = ports.ranked(4).first,
            port.shape.dimensions.dropFirst() == [1, 17, 3], port.shape.dimensions[0] <= 1
        else { return nil }
        let shape = "the output's shape"
        var reading = HeadReading(
            .keypoints(KeypointDecoding(layout: .points), ObservationOutput.Skeleton(names: pointsOfPerson)),
            members: [
                ("type", "\"keypoints\"", ports.file, shape),
                ("point", PointOrder.yxScore.rawValue.jsonText, ports.file, "\(shape): likely, MoveNet's"),
                ("names", pointsOfPerson.jsonText, ports.file, "\(shape): likely, COCO's points of a person"),
            ], tensors: ["output": port], labels: nil)
        reading.caveat =
            "point: MoveNet's points of one person fit the shape of the output, but others with 17 points look alike; compare with the model's own program"
        reading.pictures = .moveNet
        return reading
    }

    /// A value for each pixel of the input: class numbers, or the scores of one class or several.
    static func pixels(_ sheet: FactSheet, _ ports: OutputPorts) -> HeadReading? {
        guard ports.all.count == 1, let port = ports.all.first, let input = ports.input else { return nil }
        var extents = port.shape.dimensions
        guard (3...4).contains(extents.count), extents.removeFirst() <= 1 else { return nil }
        let sides = [input.height, input.width]
        let place: ChannelPlace, channels: Int
        switch extents.count {
        case 2 where extents == sides: (place, channels) = (.first, 1)
        case 3 where Array(extents.dropFirst()) == sides: (place, channels) = (.first, extents[0])
        case 3 where Array(extents.dropLast()) == sides: (place, channels) = (.last, extents[2])
        default: return nil
        }
        let layout: MaskLayout, others: String
        if port.elementType.isFloatingPoint {
            // Three channels may be a picture; one without an axis of its own is usually a depth.
            guard channels != 3, channels > 1 || extents.count == 3 else { return nil }
            let ending = sheet.endings.first { $0.output == port.name }?.fact ?? sheet.ending
            layout = channels > 1 ? .classes : ending?.value == .sigmoid ? .probabilities : .sigmoid
            others = channels > 1 ? "maps of features" : "depths and gray pictures"
        } else {
            guard [.int32, .int64].contains(port.elementType), channels == 1 else { return nil }
            (layout, others) = (.indices, "other whole numbers")
        }
        let labels = layout == .classes ? ports.labels(count: channels) : ports.labels.first
        var reading = HeadReading(
            .mask(MaskDecoding(layout: layout, order: place)),
            members: [
                ("type", "\"mask\"", ports.file, "the output's shape"),
                (
                    "layout", layout.rawValue.jsonText, ports.file,
                    "the output's shape: likely, but \(others) look alike"
                ),
                ("channels", place.rawValue.jsonText, ports.file, "the output's shape"),
            ], tensors: ["output": port], labels: labels)
        reading.caveat =
            "layout: \"\(layout.rawValue)\" fits the shape of the output, which is that of the input, but \(others) look alike; compare with the model's own program"
        return reading
    }
}
