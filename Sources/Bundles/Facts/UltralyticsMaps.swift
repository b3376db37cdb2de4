internal import EngineAPI
internal import ModelFacts
internal import Observations

/// Recognizes the maps of Ultralytics' exports: the classes of semantic segmentation, and depth.
extension HeadReading {
    /// The name of the pixels that a map of one class does not have.
    private static let background = "background"

    /// Reads the scores of each class for each position, or the class numbers, which ONNX and OpenVINO exports have.
    static func semantic(_ head: Fact<ModelHead>, _ ports: OutputPorts) throws(HeadProblem) -> HeadReading {
        guard let stated = ports.labels.first else {
            throw HeadProblem(reason: "the names of the classes of \(ports.text) (\"labels\")")
        }
        let isSingle = stated.value.count == 1
        // A map of one class has 0 and 1, and the file names only the class.
        let labels = isSingle ? Fact([background] + stated.value, source: stated.source, key: stated.key) : stated
        func reading(_ port: TensorPort, _ layout: MaskLayout, _ place: ChannelPlace?) -> HeadReading {
            var members: [Member] = [
                ("type", "\"mask\"", head.source, head.key),
                ("layout", layout.rawValue.jsonText, ports.file, "the output's shape"),
            ]
            if let place { members.append(("channels", place.rawValue.jsonText, ports.file, "the output's shape")) }
            return HeadReading(
                .mask(MaskDecoding(layout: layout, order: place)), members: members, tensors: ["output": port],
                labels: labels)
        }
        for port in ports.ranked(4) where port.elementType.isFloatingPoint {
            let extents = port.shape.dimensions, layout = isSingle ? MaskLayout.sigmoid : .classes
            if extents[1] == stated.value.count { return reading(port, layout, .first) }
            if extents[3] == stated.value.count { return reading(port, layout, .last) }
        }
        if let port = ports.all.first(where: { !$0.elementType.isFloatingPoint && $0.shape.plane != nil }) {
            return reading(port, .indices, nil)
        }
        throw misfit(head, ports)
    }

    /// The output with a depth for each position; nil if the export does not estimate depth.
    static func depth(_ sheet: FactSheet, _ ports: OutputPorts) -> (port: TensorPort, source: String, key: String)? {
        guard let head = sheet.head, head.value == .ultralytics, sheet.task?.value == "depth" else { return nil }
        return ports.all.first { $0.elementType.isFloatingPoint && $0.shape.plane != nil }
            .map { ($0, head.source, head.key) }
    }
}
