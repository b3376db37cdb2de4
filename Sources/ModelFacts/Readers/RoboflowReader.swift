internal import FileFormats
internal import JSON

/// Reads the `environment.json` that Roboflow's inference server stores next to `weights.onnx` and `class_names.txt`:
/// the resizing of pictures, and the classes. The normalization of pixels depends on the architecture, which the file
/// does not name.
package enum RoboflowReader {
    package static func environment(_ text: [UInt8], source: String = "environment.json") -> FactSheet {
        var sheet = FactSheet()
        do throws(FormatError) {
            let node = FactNode(try JSONFile.read(text), source: source)
            // Other programs write files of this name, too.
            guard node.has("PREPROCESSING") else { return sheet }
            try fill(&sheet, node)
        } catch {
            sheet.problems.append(FactProblem(source: source, reason: error.reason))
        }
        return sheet
    }

    private static func fill(_ sheet: inout FactSheet, _ node: FactNode) throws(FormatError) {
        if let labels = node.labels("CLASS_MAP") {
            sheet.labels = Fact(labels, source: node.source, key: "CLASS_MAP")
        }
        if let isMulti = node.flag("MULTICLASS") {
            sheet.multiLabel = Fact(isMulti, source: node.source, key: "MULTICLASS")
        }
        // An object, or an object as text.
        let steps: FactNode
        if case .string(let text)? = node.value("PREPROCESSING") {
            do throws(FormatError) {
                steps = FactNode(try JSONFile.read(Array(text.utf8)), source: node.source, path: "PREPROCESSING")
            } catch {
                throw FormatError("PREPROCESSING: \(error.reason)")
            }
        } else {
            steps = node.object("PREPROCESSING") ?? node
        }
        func isOn(_ key: String) -> Bool { steps.object(key)?.flag("enabled") == true }
        for (key, reason) in [
            ("static-crop", "a fixed part of the picture"), ("contrast", "the contrast that depends on the picture"),
            ("grayscale", "gray of three channels"),
        ] where isOn(key) {
            sheet.unsupported.append(
                Fact("\"\(key)\": \(reason) is not supported", source: node.source, key: steps.path(of: key)))
        }
        if !steps.has("auto-orient") {
            sheet.problems.append(
                FactProblem(
                    source: node.source,
                    reason: "has no \"auto-orient\": Roboflow ignores the EXIF orientation, Ocelli applies it"
                ))
        }
        resize(&sheet, steps)
        for problem in node.problems + steps.problems where !sheet.problems.contains(problem) {
            sheet.problems.append(problem)
        }
    }

    private static func resize(_ sheet: inout FactSheet, _ steps: FactNode) {
        guard let resize = steps.object("resize") else { return }
        let source = steps.source
        if let height = resize.integer("height", in: FactSize.sides),
            let width = resize.integer("width", in: FactSize.sides)
        {
            sheet.inputSize = Fact(
                FactSize(height: height, width: width), source: source,
                key: "\(resize.path(of: "height")), \(resize.path(of: "width"))")
        }
        let format = resize.string("format") ?? "Stretch to"
        let key = resize.has("format") ? resize.path(of: "format") : "Roboflow's default"
        let levels = ["Fit (black edges) in": 0, "Fit (white edges) in": 255, "Fit (grey edges) in": 114]
        let convention = "Roboflow's convention"
        if format == "Stretch to" {
            sheet.framing = Fact(
                PictureFraming(.stretch), source: source, key: key, basis: resize.has("format") ? .stated : .preset)
        } else if let level = levels[format] {
            sheet.framing = Fact(
                PictureFraming(.letterbox(nil, topLeft: false)), source: source, key: key,
                parts: [.centering: convention])
            sheet.fill = Fact([level], source: source, key: key)
            sheet.problems.append(
                FactProblem(
                    source: source,
                    reason:
                        "\(key): Roboflow truncates the scaled side to a whole number, Ocelli rounds it: one line of the margin may differ"
                ))
        } else {
            sheet.unsupported.append(
                Fact("\"\(format.prefix(60))\" is not supported", source: source, key: key))
            return
        }
        sheet.filter = Fact(.linear, source: source, key: convention, basis: .preset)
        sheet.order = Fact(.rgb, source: source, key: convention, basis: .preset)
    }
}
