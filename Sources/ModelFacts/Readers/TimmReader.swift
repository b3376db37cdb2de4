internal import FileFormats
internal import JSON

/// Reads the `config.json` of timm (pytorch-image-models): `pretrained_cfg` and the names of classes.
package enum TimmReader {
    /// The defaults of timm's `resolve_data_config` for omitted values.
    private static let imageNetMean = [0.485, 0.456, 0.406], imageNetDeviation = [0.229, 0.224, 0.225]
    private static let usualShare = 0.875, usualSize = FactSize(height: 224, width: 224)

    /// - Parameter input: the input size of the model file, if known: it decides between the two configured sizes.
    package static func config(_ text: [UInt8], input: FactSize? = nil, source: String = "config.json") -> FactSheet {
        var sheet = FactSheet()
        let root: FactNode
        do throws(FormatError) {
            root = FactNode(try JSONFile.read(text), source: source)
        } catch {
            // Hugging Face's reader reports the error of the same file.
            return sheet
        }
        // Before version 0.9 the values were at the top level.
        let isOld = !root.has("pretrained_cfg") && root.has("architecture") && root.has("input_size")
        guard let node = isOld ? root : root.object("pretrained_cfg") else { return sheet }
        labels(root, node, &sheet)
        data(node, input: input, &sheet)
        if let name = root.string("architecture") {
            let tag = node.string("tag").map { $0.isEmpty ? "" : ".\($0)" } ?? ""
            sheet.name = Fact(name + tag, source: source, key: "architecture")
        }
        if let license = node.string("license") {
            sheet.license = Fact(license, source: source, key: node.path(of: "license"))
        }
        switch root.integer("num_classes", in: 0...LabelTable.maximumLabels) {
        case 0?: sheet.head = Fact(.features, source: source, key: "num_classes")
        case _?: sheet.task = Fact("classify", source: source, key: "num_classes")
        case nil: break
        }
        sheet.problems += root.problems
        return sheet
    }

    private static func labels(_ root: FactNode, _ node: FactNode, _ sheet: inout FactSheet) {
        for (holder, key) in [(root, "label_names"), (node, "label_names")] where holder.has(key) {
            guard var names = holder.labels(key) else { continue }
            // WordNet's numbers mean nothing to people; use the adjacent descriptions.
            let areNumbers = names.allSatisfy { $0.utf8.count == 9 && $0.hasPrefix("n") && Int($0.dropFirst()) != nil }
            if areNumbers, case .object(let texts)? = holder.value("label_descriptions") {
                names = names.map { name in texts[name].flatMap(PlainScalar.text) ?? name }
            }
            sheet.labels = Fact(names, source: holder.source, key: holder.path(of: key))
            return
        }
    }

    private static func key(_ key: String, of node: FactNode) -> String {
        node.has(key) ? node.path(of: key) : "timm's default"
    }

    private static func fact<Value>(_ value: Value, _ name: String, of node: FactNode) -> Fact<Value> {
        Fact(
            value, source: node.source, key: key(name, of: node), basis: node.has(name) ? .stated : .preset)
    }

    private static func data(_ node: FactNode, input: FactSize?, _ sheet: inout FactSheet) {
        let unsaid = node.has("input_size") ? nil : usualSize
        let usual = tensorSize(node, "input_size") ?? unsaid, test = tensorSize(node, "test_input_size")
        let isTest = test != nil && input != nil && input == test && input != usual
        guard let size = isTest ? test : usual else { return }
        let sizeKey = isTest ? "test_input_size" : "input_size"
        sheet.inputSize = fact(size, sizeKey, of: node)
        let shareKey = isTest && node.has("test_crop_pct") ? "test_crop_pct" : "crop_pct"
        let share = node.number(shareKey) ?? usualShare
        guard share > 0, share <= 1 else {
            return node.note(shareKey, "expected a number greater than 0, at most 1, found \(share)")
        }
        func scaled(_ side: Int) -> Int { min(16_384, Int((Double(side) / share).rounded(.down))) }
        let mean = node.numbers("mean") ?? imageNetMean
        let both = FactSize(height: scaled(size.height), width: scaled(size.width))
        func framed(_ resize: PictureFraming.Resize) {
            sheet.framing = Fact(
                PictureFraming(resize, crop: size, floors: false), source: node.source, key: key("crop_mode", of: node),
                parts: [
                    .resize:
                        "\(key(sizeKey, of: node)), \(node.has(shareKey) ? node.path(of: shareKey) : "timm's default crop_pct")",
                    .crop: key(sizeKey, of: node), .centering: "torchvision's center_crop",
                ], basis: [sizeKey, shareKey, "crop_mode"].contains(where: node.has) ? .stated : .preset)
        }
        switch node.string("crop_mode") ?? "center" {
        case "squash": framed(.exact(both))
        case "border":
            // If the picture is scaled to more than the input's size, its border is cropped again.
            framed(.contain(both))
            sheet.fill = fact(mean.map { Int((max(0, min(1, $0)) * 255).rounded(.toNearestOrEven)) }, "mean", of: node)
        case "center":
            guard both.height == both.width else {
                framed(.cover(both))
                break
            }
            framed(.shortest(both.height))
        case let mode:
            node.note("crop_mode", "expected \"center\", \"squash\" or \"border\", found \"\(mode)\"")
        }
        // timm itself takes this value from the command line only, and ignores it here; but it was meant to be applied.
        if let border = node.integer("crop_border_pixels", in: 0...FactSize.sides.upperBound), border > 0 {
            sheet.unsupported.append(
                fact(
                    "\"crop_border_pixels\" \(border): cutting the border off before scaling is not supported",
                    "crop_border_pixels", of: node))
        }
        values(node, mean: mean, &sheet)
    }

    /// Fills in the filter and the normalization.
    private static func values(_ node: FactNode, mean: [Double], _ sheet: inout FactSheet) {
        let name = node.string("interpolation") ?? "bicubic"
        if let filter = PictureFilter(rawValue: name == "lanczos4" ? "lanczos" : name), filter != .linear,
            filter != .area
        {
            sheet.filter = fact(filter, "interpolation", of: node)
        } else {
            node.note("interpolation", "expected the name of a Pillow filter, found \"\(name)\"")
        }
        var form = PictureNormalization()
        form.mean = mean
        form.std = node.numbers("std") ?? imageNetDeviation
        guard form.std.allSatisfy({ $0 > 0 }) else {
            return node.note("std", "expected numbers greater than 0, found \(form.std)")
        }
        sheet.normalization = Fact(
            form, source: node.source, key: key("mean", of: node),
            parts: [.scale: "timm's ToTensor", .mean: key("mean", of: node), .std: key("std", of: node)],
            basis: node.has("mean") || node.has("std") ? .stated : .preset)
        sheet.order = Fact(.rgb, source: node.source, key: "RGB, as in all timm models", basis: .preset)
    }

    /// Reads `[channels, height, width]`.
    private static func tensorSize(_ node: FactNode, _ key: String) -> FactSize? {
        guard case .array(let elements)? = node.value(key) else { return nil }
        let sides = elements.compactMap { FactNode.integer($0, in: FactSize.sides) }
        guard elements.count == 3, sides.count == 3 else {
            node.note(key, "expected [channels, height, width]")
            return nil
        }
        return FactSize(height: sides[1], width: sides[2])
    }
}
