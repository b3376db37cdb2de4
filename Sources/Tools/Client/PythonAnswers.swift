internal import WireFormats

/// The types of a task's answer in Python, and the functions that read them.
struct PythonAnswers {
    private let plan: ClientPlan

    init(_ plan: ClientPlan) { self.plan = plan }

    /// A class with its members.
    private struct Record {
        let name: String
        let about: String
        var members: [Member]
        /// The properties, as lines.
        var properties: [String] = []
    }

    private struct Member {
        let name: String, type: String, about: String
        /// The expression that reads it from `value`, an object.
        let read: String
        var isOptional = false

        // Wide: a record, in the order of its fields.
        init(
            _ name: String, _ type: String, _ about: String, _ read: (String) -> String, key: String? = nil,
            isOptional: Bool = false, _ names: ClientNames
        ) {
            (self.name, self.type, self.about, self.isOptional) = (name, type, about, isOptional)
            let literal = names.literal(key ?? name)
            self.read =
                isOptional
                ? "None if value.get(\(literal)) is None else \(read("value[\(literal)]"))" : read("value[\(literal)]")
        }

        /// The member in an answer that may be an error instead.
        func optional(_ names: ClientNames) -> Member {
            guard !isOptional else { return self }
            var other = self
            other.isOptional = true
            other.guarded = names.literal(name)
            return other
        }

        /// The key of a member that was made optional.
        var guarded: String?
        var expression: String { guarded.map { "None if value.get(\($0)) is None else \(read)" } ?? read }
    }

    private func records(of answer: ModelInterface.Answer) -> [Record] {
        var records: [Record] = []
        var output = Record(name: "\(plan.type)Output", about: "The outputs of \(plan.type).", members: [])
        output.members = members(of: answer, prefix: plan.type, isOwn: true, &records)
        if plan.model.isPipeline {
            output.members.append(
                member("skipped", "int", "The finds that a limit left without stages.", isOptional: true) {
                    "_integer(\($0))"
                })
        }
        if answer.route == .classify {
            output.properties += [
                "", "    @property", "    def classLabel(self) -> str:",
                "        \"The most confident label; empty without one.\"",
                "        return self.classifications[0].label if self.classifications else \"\"",
                "", "    @property", "    def classLabelProbs(self) -> dict[str, float]:",
                "        \"The confidence of each label of the answer.\"",
                "        return {found.label: found.confidence for found in reversed(self.classifications)}",
            ]
            if plan.cases != nil {
                output.properties += PythonClient.labelCase(of: "classLabel", named: "classLabelCase", plan.type)
            }
        }
        return records + [output]
    }

    private func member(
        _ name: String, _ type: String, _ about: String, key: String? = nil, isOptional: Bool = false,
        _ read: (String) -> String
    ) -> Member { Member(name, type, about, read, key: key, isOptional: isOptional, plan.names) }

    // Long: one case for each route.
    private func members(
        of answer: ModelInterface.Answer, prefix: String, isOwn: Bool, _ records: inout [Record]
    ) -> [Member] {
        func add(_ record: Record) {
            if !records.contains(where: { $0.name == record.name }) { records.append(record) }
        }
        func number(_ name: String, _ about: String = "", isOptional: Bool = false) -> Member {
            member(name, "float", about, isOptional: isOptional) { "_number(\($0))" }
        }
        func integer(_ name: String, _ about: String) -> Member { member(name, "int", about) { "_integer(\($0))" } }
        func text(_ name: String, _ about: String) -> Member { member(name, "str", about) { "_text(\($0))" } }
        func list(_ name: String, _ record: String, _ about: String, isOptional: Bool = false) -> Member {
            member(name, "list[\(record)]", about, isOptional: isOptional) {
                "[_read_\(record)(e) for e in _list(\($0))]"
            }
        }
        func points(_ name: String, isOptional: Bool) -> Member {
            let record = plan.type + "Keypoint"
            add(
                Record(
                    name: record, about: "A named point in pixels.",
                    members: [
                        text("name", ""), number("x"), number("y"), number("z", isOptional: true),
                        number("confidence", isOptional: true),
                    ]))
            return member(
                name, "list[_t.Optional[\(record)]]", "The points; None for one that was not found.",
                isOptional: isOptional
            ) { "[None if e is None else _read_\(record)(e) for e in _list(\($0))]" }
        }
        let labelCase =
            isOwn && plan.cases != nil
            ? PythonClient.labelCase(of: "label", named: "labelCase", plan.type) : []
        switch answer.route {
        case .classify:
            let record = plan.type + "Classification"
            add(
                Record(
                    name: record, about: "A class and its confidence.",
                    members: [integer("index", ""), text("label", ""), number("confidence")]))
            return [
                list("classifications", record, "The classes, most confident first."),
                number("distance", "Of taught classes: the cosine distance to the first class.", isOptional: true),
                member(
                    "known", "bool", "Of taught classes: whether the picture is like the examples.", isOptional: true
                ) { "_flag(\($0))" },
            ]
        case .detect:
            let box = plan.type + "Box", point = plan.type + "Point", mask = plan.type + "Mask"
            add(
                Record(
                    name: box, about: "An upright rectangle in pixels.",
                    members: [number("x"), number("y"), number("width"), number("height")]))
            add(Record(name: point, about: "A place in pixels.", members: [number("x"), number("y")]))
            var record = Record(
                name: prefix + "Detection", about: "A find.",
                members: [
                    integer("index", "The number of the class."), text("label", "The class."),
                    number("confidence", "0 to 1."),
                    member("box", box, "In pixels of the displayed picture.") { "_read_\(box)(\($0))" },
                    list("points", point, "The corners of an oriented box.", isOptional: true),
                    number("angle", "Of an oriented box: radians, clockwise.", isOptional: true),
                ], properties: labelCase)
            if !answer.points.isEmpty { record.members.append(points("keypoints", isOptional: true)) }
            if answer.hasMasks {
                add(
                    Record(
                        name: mask, about: "Pixels as COCO's compressed run lengths; the size is height, width.",
                        members: [
                            member("size", "list[int]", "") { "[_integer(e) for e in _list(\($0))]" },
                            text("counts", ""),
                        ]))
                record.members.append(member("mask", mask, "Its pixels.", isOptional: true) { "_read_\(mask)(\($0))" })
            }
            let keys = Set(answer.stages.map(\.name))
            record.members.removeAll { keys.contains($0.name) }
            let identifiers = plan.names.members(
                answer.stages.map(\.name), besides: Set(record.members.map(\.name) + ["labelCase"]))
            for (stage, identifier) in zip(answer.stages, identifiers) {
                let name = record.name + "_" + identifier
                var inner = Record(name: name, about: "The answer of a stage.", members: [])
                inner.members = members(of: stage.answer, prefix: name + "_", isOwn: false, &records).map {
                    $0.optional(plan.names)
                }
                inner.members += [
                    member("error", "str", "Why there is no answer.", isOptional: true) { "_text(\($0))" },
                    member("code", "str", "The kind of error.", isOptional: true) { "_text(\($0))" },
                ]
                add(inner)
                record.members.append(
                    member(identifier, name, "The answer of a stage.", key: stage.name, isOptional: true) {
                        "_read_\(name)(\($0))"
                    })
            }
            add(record)
            return [list("detections", record.name, "The finds, most confident first.")]
        case .segment:
            let record = prefix + "Segment"
            add(
                Record(
                    name: record, about: "A class in the mask.",
                    members: [
                        integer("index", "The number of the class."), text("label", "The class."),
                        integer("area", "The number of its pixels."),
                    ], properties: labelCase))
            return [
                list("segments", record, "The classes, the largest first."),
                member("mask", "bytes", "A PNG of class numbers, of the displayed picture's size.") { "_file(\($0))" },
            ]
        case .keypoints: return [points("keypoints", isOptional: false)]
        case .embed:
            return [
                member("embedding", "list[float]", "The vector.") { "[_number(e) for e in _list(\($0))]" },
                integer("dimension", "The number of its elements."),
            ]
        case .read:
            let box = plan.type + "Box", point = plan.type + "Point", record = prefix + "Line"
            add(
                Record(
                    name: box, about: "An upright rectangle in pixels.",
                    members: [number("x"), number("y"), number("width"), number("height")]))
            add(Record(name: point, about: "A place in pixels.", members: [number("x"), number("y")]))
            add(
                Record(
                    name: record, about: "A line of text.",
                    members: [
                        text("text", "Its text."), number("confidence", "0 to 1."),
                        list("points", point, "The corners, clockwise, the first where reading begins."),
                        member("box", box, "The upright box around them.") { "_read_\(box)(\($0))" },
                    ]))
            return [
                text("text", "The lines in reading order; rows are separated by line feeds."),
                list("lines", record, "The lines in reading order."),
                member("skipped", "int", "The regions that a limit left unread.", isOptional: true) {
                    "_integer(\($0))"
                },
            ]
        }
    }

    // MARK: Text

    func types(of answer: ModelInterface.Answer) -> String {
        records(of: answer).map { record in
            var lines = [
                "@_dataclasses.dataclass(frozen=True)", "class \(record.name):",
                "    \(plan.names.literal(record.about))", "",
            ]
            for member in record.members {
                if !member.about.isEmpty { lines.append("    # \(member.about)") }
                lines.append(
                    "    \(member.name): " + (member.isOptional ? "_t.Optional[\(member.type)]" : member.type))
            }
            return (lines + record.properties).joined(separator: "\n")
        }.joined(separator: "\n\n\n")
    }

    func reader(of answer: ModelInterface.Answer) -> String {
        let records = records(of: answer)
        return records.map { record in
            let name = record.name == "\(plan.type)Output" ? "_output" : "_read_\(record.name)"
            let values = record.members.map { "        \($0.expression)," }
            return """
                def \(name)(value: _t.Any) -> \(record.name):
                    return \(record.name)(
                \(values.joined(separator: "\n"))
                    )
                """
        }.joined(separator: "\n\n\n")
    }
}
