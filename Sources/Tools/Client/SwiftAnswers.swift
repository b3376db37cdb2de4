internal import WireFormats

/// The types of a task's answer in Swift: decodable structures, nested in the outputs.
struct SwiftAnswers {
    private let plan: ClientPlan

    init(_ plan: ClientPlan) { self.plan = plan }

    func text(of answer: ModelInterface.Answer) -> String {
        var types: [String] = []
        var members = self.members(of: answer, prefix: "", &types)
        if plan.model.isPipeline {
            members.append(.init("skipped", "Int?", "The finds that a limit left without stages."))
        }
        var parts = [structure("Output", members, prefix: plan.type)]
        if answer.route == .classify { parts.append(Self.classes) }
        if plan.cases != nil, answer.route == .classify {
            parts.append(
                """
                /// The label as a case; nil if the model has been given other labels since.
                public var classLabelCase: \(plan.type)Label? { \(plan.type)Label(rawValue: classLabel) }
                """)
        }
        return parts[0] + (parts.dropFirst() + types).map { "\n" + Self.indented($0) }.joined(separator: "\n") + "\n}"
    }

    private struct Member {
        let name: String, type: String, about: String, key: String

        init(_ name: String, _ type: String, _ about: String, key: String? = nil) {
            (self.name, self.type, self.about, self.key) = (name, type, about, key ?? name)
        }

        /// The member in an answer that may be an error instead.
        var optional: Member { Member(name, type.hasSuffix("?") ? type : type + "?", about, key: key) }
        /// True for base64 in an object: the member is its bytes.
        var isFile: Bool { type.hasPrefix("File") }
    }

    /// The members of an answer.
    /// - Parameter types: the types that they need are appended.
    // Long: one case for each route.
    private func members(of answer: ModelInterface.Answer, prefix: String, _ types: inout [String]) -> [Member] {
        func add(_ text: String) {
            if !types.contains(text) { types.append(text) }
        }
        let labelled = plan.cases != nil && prefix.isEmpty && answer.route != .classify
        switch answer.route {
        case .classify:
            add(Self.classification)
            return [
                Member("classifications", "[Classification]", "The classes, most confident first."),
                Member("distance", "Double?", "Of taught classes: the cosine distance to the first class."),
                Member("known", "Bool?", "Of taught classes: whether the picture is like the examples."),
            ]
        case .detect:
            add(Self.box)
            if !answer.points.isEmpty { add(Self.keypoint) }
            if answer.hasMasks { add(Self.mask) }
            add(Self.point)
            let name = prefix + "Detection"
            var members = [
                Member("index", "Int", "The number of the class."), Member("label", "String", "The class."),
                Member("confidence", "Double", "0 to 1."), Member("box", "Box", "In pixels of the displayed picture."),
                Member("points", "[Point]?", "The corners of an oriented box."),
                Member("angle", "Double?", "Of an oriented box: radians, clockwise."),
            ]
            if !answer.points.isEmpty {
                members.append(Member("keypoints", "[Keypoint?]?", "Its points; nil for one that was not found."))
            }
            if answer.hasMasks { members.append(Member("mask", "Mask?", "Its pixels.")) }
            let keys = Set(answer.stages.map(\.name))
            members.removeAll { keys.contains($0.key) }
            let taken = Set(members.map(\.name) + ["labelCase"])
            let stages = plan.names.members(answer.stages.map(\.name), besides: taken)
            for (stage, identifier) in zip(answer.stages, stages) {
                let type = name + "_" + identifier
                let inner = self.members(of: stage.answer, prefix: type + "_", &types).map(\.optional)
                types.append(
                    structure(
                        type,
                        inner + [
                            Member("error", "String?", "Why there is no answer."),
                            Member("code", "String?", "The kind of error."),
                        ], about: "The answer of a stage.") + "}")
                members.append(Member(identifier, type + "?", "The answer of a stage.", key: stage.name))
            }
            var text = structure(name, members, about: "A find.")
            if labelled { text += Self.indented(labelCase) + "\n" }
            types.append(text + "}")
            return [Member("detections", "[\(name)]", "The finds, most confident first.")]
        case .segment:
            add(Self.file)
            types.append(
                structure(
                    prefix + "Segment",
                    [
                        Member("index", "Int", "The number of the class."), Member("label", "String", "The class."),
                        Member("area", "Int", "The number of its pixels."),
                    ], about: "A class in the mask.") + (labelled ? Self.indented(labelCase) + "\n" : "") + "}")
            return [
                Member("segments", "[\(prefix)Segment]", "The classes, the largest first."),
                Member("maskFile", "File", "A PNG of class numbers, of the displayed picture's size.", key: "mask"),
            ]
        case .keypoints:
            add(Self.keypoint)
            return [Member("keypoints", "[Keypoint?]", "The points; nil for one that was not found.")]
        case .embed:
            return [
                Member("embedding", "[Double]", "The vector."),
                Member("dimension", "Int", "The number of its elements."),
            ]
        case .read:
            add(Self.box)
            add(Self.point)
            types.append(
                structure(
                    prefix + "Line",
                    [
                        Member("text", "String", "Its text."), Member("confidence", "Double", "0 to 1."),
                        Member("points", "[Point]", "The corners, clockwise, the first where reading begins."),
                        Member("box", "Box", "The upright box around them."),
                    ], about: "A line of text.") + "}")
            return [
                Member("text", "String", "The lines in reading order; rows are separated by line feeds."),
                Member("lines", "[\(prefix)Line]", "The lines in reading order."),
                Member("skipped", "Int?", "The regions that a limit left unread."),
            ]
        }
    }

    private var labelCase: String {
        """
        /// The label as a case; nil if the model has been given other labels since.
        public var labelCase: \(plan.type)Label? { \(plan.type)Label(rawValue: label) }
        """
    }

    /// A structure without its last brace.
    private func structure(
        _ name: String, _ members: [Member], prefix: String = "", about: String? = nil
    ) -> String {
        var lines = [
            "/// \(about ?? "The outputs of \(prefix).")", "public struct \(prefix)\(name): Decodable, Sendable {",
        ]
        for member in members {
            if member.isFile {
                let end = member.type.dropFirst("File".count)
                lines.append("    private let \(member.name): \(member.type)")
                lines.append("    /// \(member.about)")
                lines.append("    public var \(member.key): Data\(end) { \(member.name)\(end).b64 }")
                continue
            }
            lines.append("    /// \(member.about)")
            lines.append("    public let \(member.name): \(member.type)")
        }
        if members.contains(where: { $0.name != $0.key }) {
            lines += ["", "    private enum CodingKeys: String, CodingKey {"]
            lines += members.map { "        case \($0.name) = \(plan.names.literal($0.key))" }
            lines.append("    }")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func indented(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { $0.isEmpty ? "" : "    " + $0 }.joined(
            separator: "\n")
    }

    private static let classes = """
        /// The most confident label; empty without one.
        public var classLabel: String { classifications.first?.label ?? "" }
        /// The confidence of each label of the answer.
        public var classLabelProbs: [String: Double] {
            Dictionary(classifications.map { ($0.label, $0.confidence) }, uniquingKeysWith: max)
        }
        """
    private static let classification = """
        /// A class and its confidence.
        public struct Classification: Decodable, Sendable {
            public let index: Int, label: String, confidence: Double
        }
        """
    private static let box = """
        /// An upright rectangle in pixels.
        public struct Box: Decodable, Sendable {
            public let x: Double, y: Double, width: Double, height: Double
        }
        """
    private static let point = """
        /// A place in pixels.
        public struct Point: Decodable, Sendable {
            public let x: Double, y: Double
        }
        """
    private static let keypoint = """
        /// A named point in pixels.
        public struct Keypoint: Decodable, Sendable {
            public let name: String, x: Double, y: Double, z: Double?, confidence: Double?
        }
        """
    private static let mask = """
        /// Pixels as COCO's compressed run lengths; the size is height, width.
        public struct Mask: Decodable, Sendable {
            public let size: [Int], counts: String
        }
        """
    private static let file = """
        /// A file in base64.
        struct File: Decodable, Sendable {
            let b64: Data
        }
        """
}
