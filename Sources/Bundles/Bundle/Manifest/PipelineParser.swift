internal import JSON

/// Reads `pipeline` of a model.json, and collects all errors.
struct PipelineParser {
    let problems: ProblemList

    /// The members that every detection has.
    private static let members: Set<String> = [
        "index", "label", "confidence", "box", "points", "angle", "keypoints", "mask",
    ]

    func parse(_ object: ManifestObject) -> PipelineDescription {
        var pipeline = PipelineDescription()
        pipeline.model = object.requiredString("model")
        pipeline.threshold = share("threshold", of: object)
        pipeline.iou = share("iou", of: object)
        pipeline.classes = classes(of: object)
        pipeline.tiles = object.object("tiles").map(tiles)
        pipeline.maximum = object.integer("most", in: 1...10_000)
        pipeline.each = stages(of: object, depth: 1)
        object.refuseUnknownKeys()
        refuseRepeatedNames(pipeline)
        return pipeline
    }

    private func tiles(_ object: ManifestObject) -> PipelineDescription.Tiles {
        let size = object.integer("size", in: 32...16_384)
        if !object.has("size") {
            problems.add(object.path(of: "size"), "is missing: expected the pixels of a tile's side")
        }
        let overlap = number("overlap", of: object, from: 0, to: 0.9)
        object.refuseUnknownKeys()
        return PipelineDescription.Tiles(size: size ?? 640, overlap: overlap ?? 0)
    }

    private func stages(of object: ManifestObject, depth: Int) -> [PipelineDescription.Stage] {
        guard object.has("each") else { return [] }
        let deepest = PipelineDescription.deepest
        guard depth <= deepest else {
            problems.add(object.path(of: "each"), "is level \(depth) of stages: expected \(deepest) at most")
            return []
        }
        return object.objects("each").map { stage($0, depth: depth) }
    }

    private func stage(_ object: ManifestObject, depth: Int) -> PipelineDescription.Stage {
        var stage = PipelineDescription.Stage(path: object.path)
        stage.name = name(of: object)
        stage.model = object.requiredString("model")
        if let task = object.choice("task", PipelineDescription.Task.self) {
            stage.task = task
        } else if !object.has("task") {
            let names = PipelineDescription.Task.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
            problems.add(object.path(of: "task"), "is missing: expected one of \(names)")
        }
        stage.classes = classes(of: object)
        stage.top = object.integer("top", in: 1...10_000)
        stage.threshold = share("threshold", of: object)
        stage.iou = share("iou", of: object)
        stage.maximum = object.integer("most", in: 1...10_000)
        if let crop = object.object("crop") { stage.crop = self.crop(crop) }
        stage.each = stages(of: object, depth: depth + 1)
        if stage.task != .detect {
            for key in ["each", "most", "iou"] where object.has(key) {
                problems.add(
                    object.path(of: key),
                    "is for a stage with the task \"detect\": \"\(stage.task.rawValue)\" has no finds")
            }
        }
        if stage.top != nil, stage.task != .classify, stage.task != .detect {
            problems.add(object.path(of: "top"), "is for the tasks \"classify\" and \"detect\"")
        }
        if stage.threshold != nil, stage.task == .embed {
            problems.add(object.path(of: "threshold"), "is not for the task \"embed\": a vector has no confidence")
        }
        object.refuseUnknownKeys()
        return stage
    }

    private func name(of object: ManifestObject) -> String {
        let name = object.requiredString("as"), path = object.path(of: "as")
        if Self.members.contains(name) {
            problems.add(path, "\"\(name)\" is a member that each find has: choose another name")
        }
        let isPlain = name.utf8.allSatisfy { byte in
            UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 || 48...57 ~= byte || byte == 0x5F || byte == 0x2D
        }
        if !name.isEmpty, !isPlain || name.utf8.count > 64 {
            problems.add(path, "expected 1 to 64 letters, digits, \"_\" and \"-\", found \"\(name.prefix(80))\"")
        }
        return name
    }

    private func crop(_ object: ManifestObject) -> PipelineDescription.Crop {
        var crop = PipelineDescription.Crop()
        if let margin = number("margin", of: object, from: 0, to: 10) { crop.margin = margin }
        crop.isSquare = object.bool("square") ?? false
        crop.isMasked = object.bool("mask") ?? false
        crop.alignment = object.choice("align", PipelineDescription.Alignment.self)
        if let size = object.elements("size") {
            let sides = size.compactMap {
                if case .integer(let side) = $0, (16...1_024).contains(side) { side } else { nil }
            }
            if sides.count == 2, size.count == 2, sides[0] == sides[1] {
                crop.side = sides[0]
            } else {
                problems.add(
                    object.path(of: "size"),
                    "expected width and height, which are the same, from 16 to 1024: [112, 112]")
            }
            if crop.alignment != .fivePoints {
                problems.add(
                    object.path(of: "size"),
                    "is for \"align\": \"five_points\"; other crops are scaled to the model's input, in one step")
            }
        }
        if crop.alignment == .fivePoints {
            for key in ["margin", "square", "mask"] where object.has(key) {
                problems.add(
                    object.path(of: key), "does not go with \"align\": \"five_points\", which sets what is seen")
            }
        }
        if crop.alignment == .box, crop.isMasked {
            problems.add(object.path(of: "mask"), "does not go with \"align\": \"box\"")
        }
        object.refuseUnknownKeys()
        return crop
    }

    private func classes(of object: ManifestObject) -> [String]? {
        guard let values = object.elements("classes") else { return nil }
        var classes: [String] = []
        for (index, value) in values.enumerated() {
            switch value {
            case .string(let label): classes.append(label)
            case .integer(let number): classes.append("\(number)")
            default:
                problems.add(
                    "\(object.path(of: "classes"))[\(index)]", "expected a label or a number, found \(value.kind)")
            }
        }
        if values.isEmpty { problems.add(object.path(of: "classes"), "is empty: no find would have one of them") }
        return classes
    }

    private func share(_ key: String, of object: ManifestObject) -> Float? {
        number(key, of: object, from: 0, to: 1).map { Float($0) }
    }

    private func number(_ key: String, of object: ManifestObject, from minimum: Double, to maximum: Double) -> Double? {
        guard let number = object.number(key) else { return nil }
        guard (minimum...maximum).contains(number) else {
            problems.add(object.path(of: key), "expected a number from \(minimum) to \(maximum), found \(number)")
            return nil
        }
        return number
    }

    /// Adds a problem for repeated names: answers and times are found by name, so that no two stages of any level may
    /// share one.
    private func refuseRepeatedNames(_ pipeline: PipelineDescription) {
        var places: [String: String] = [:]
        for stage in pipeline.allStages where !stage.name.isEmpty {
            if let other = places.updateValue(stage.path, forKey: stage.name) {
                problems.add("\(stage.path).as", "\"\(stage.name)\" is also the name of \(other)")
            }
        }
    }
}
