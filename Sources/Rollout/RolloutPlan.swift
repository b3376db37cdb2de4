package import JSON
internal import SystemSupport

/// An operator's plan for the versions of a model: the content of rollout.json and of `PUT /v1/models/NAME/rollout`.
package struct RolloutPlan: Sendable, Hashable {
    /// The version for requests without one; nil for the highest version that works.
    package var serve: String?
    /// Names for versions.
    package var labels: [String: String] = [:]
    package var candidate: Candidate?
    /// The conditions for automatic promotion; nil for no promotion.
    package var promote: Promotion?

    /// A version to compare with the serving one.
    package struct Candidate: Sendable, Hashable {
        package var version: String
        /// The share of requests that it answers, 0 to 1.
        package var share = 0.0
        /// The share of requests that it also runs after they were answered, without effect on the answer, 0 to 1.
        package var shadow = 0.0
        /// The header field that selects the requests by its value; nil for the token or, without a token, the client's
        /// address.
        package var sticky: String?

        package init(version: String) { self.version = version }
    }

    /// The conditions for promotion.
    package struct Promotion: Sendable, Hashable {
        /// The minimum number of compared pictures.
        package var after = 2_000
        /// The minimum share of pictures on which both versions agree.
        package var agreement = 0.98
        /// The maximum ratio of inference times, candidate to serving version; nil for no limit.
        package var latency: Double?

        package init() {}
    }

    package init() {}

    /// The reason why a plan is invalid.
    package struct Problem: Error, Sendable, Hashable {
        /// The path of the member: `candidate.share`.
        package let path: String
        /// The expected and the actual value.
        package let reason: String

        package init(path: String, reason: String) {
            self.path = path
            self.reason = reason
        }

        package var message: String { path.isEmpty ? reason : "\"\(path)\": \(reason)" }
    }

    package static let maximumLabels = 100
    /// The maximum length of a version, a label or a field's name, in bytes.
    private static let longestName = 256
    /// Members of answers that are ignored in requests.
    package static let answered: Set<String> = [
        "state", "reason", "compared", "skipped", "agreement", "latency_ratio", "decision", "differences", "classes",
        "top5_overlap", "confidence_difference", "failures", "rolled_back", "judged",
        "serving", "over",
    ]

    // MARK: Reading

    /// Reads a plan. Members that only answers have are ignored; other unknown members are errors.
    package init(_ value: JSONValue) throws(Problem) {
        let root = try Reader(value, path: "")
        serve = try root.name("serve")
        if let members = try root.object("labels") {
            guard members.members.count <= Self.maximumLabels else {
                throw members.problem(
                    "", "expected at most \(Self.maximumLabels) labels, found \(members.members.count)")
            }
            for label in members.members.keys.sorted() {
                guard let first = label.unicodeScalars.first, Self.isLetter(first), label.utf8.count <= Self.longestName
                else {
                    throw members.problem(label, "expected a label that begins with a letter (numbers are versions)")
                }
                labels[label] = try members.name(label)
            }
        }
        if let members = try root.object("candidate") {
            guard let version = try members.name("version") else {
                throw members.problem("version", "is missing: expected the candidate's version")
            }
            var candidate = Candidate(version: version)
            candidate.share = try members.number("share", 0...1) ?? 0
            candidate.shadow = try members.number("shadow", 0...1) ?? 0
            candidate.sticky = try members.field("sticky")
            try members.refuseOthers(["version", "share", "shadow", "sticky"])
            self.candidate = candidate
        }
        if let members = try root.object("promote") {
            var promotion = Promotion()
            if let after = try members.integer("after", 1...1_000_000_000) { promotion.after = after }
            if let agreement = try members.number("agreement", 0...1) {
                guard agreement > 0 else { throw members.problem("agreement", "expected more than 0") }
                promotion.agreement = agreement
            }
            promotion.latency = try members.number("latency", 0.01...1_000)
            try members.refuseOthers(["after", "agreement", "latency"])
            promote = promotion
        }
        try root.refuseOthers(["serve", "labels", "candidate", "promote"], ignoring: Self.answered)
        guard candidate == nil || candidate?.version != serve else {
            throw Problem(path: "candidate.version", reason: "is also the version that serves")
        }
    }

    private static func isLetter(_ scalar: Unicode.Scalar) -> Bool {
        ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar)
    }

    /// Reads an object's members by name.
    private struct Reader {
        let members: [String: JSONValue]
        let path: String

        init(_ value: JSONValue, path: String) throws(Problem) {
            guard case .object(let members) = value else {
                throw Problem(path: path, reason: "expected an object, found \(value.kind)")
            }
            // null means a missing member.
            self.members = members.filter { $0.value != .null }
            self.path = path
        }

        func problem(_ name: String, _ reason: String) -> Problem {
            Problem(path: path.isEmpty ? name : name.isEmpty ? path : path + "." + name, reason: reason)
        }

        func object(_ name: String) throws(Problem) -> Reader? {
            guard let value = members[name] else { return nil }
            return try Reader(value, path: name)
        }

        /// A nonempty string of limited length.
        func name(_ name: String) throws(Problem) -> String? {
            guard let value = members[name] else { return nil }
            guard case .string(let text) = value, !text.isEmpty, text.utf8.count <= RolloutPlan.longestName else {
                throw problem(
                    name, "expected text of 1 to \(RolloutPlan.longestName) bytes, such as \"2\", found \(value.kind)")
            }
            return text
        }

        /// The name of a header field (RFC 9110, 5.1).
        func field(_ name: String) throws(Problem) -> String? {
            guard let text = try self.name(name) else { return nil }
            let marks = "!#$%&'*+-.^_`|~".utf8
            guard
                text.utf8.allSatisfy({ (48...57).contains($0) || (65...90).contains($0 & 0xDF) || marks.contains($0) })
            else { throw problem(name, "expected the name of a header field, found \"\(text.prefix(60))\"") }
            return text
        }

        func number(_ name: String, _ range: ClosedRange<Double>) throws(Problem) -> Double? {
            let number: Double
            switch members[name] {
            case nil: return nil
            case .integer(let value)?: number = Double(value)
            case .number(let value)?: number = value
            case let value?: throw problem(name, "expected a number, found \(value.kind)")
            }
            guard range.contains(number) else {
                throw problem(
                    name, "expected a number from \(range.lowerBound) to \(range.upperBound), found \(number)")
            }
            return number
        }

        func integer(_ name: String, _ range: ClosedRange<Int>) throws(Problem) -> Int? {
            guard let value = members[name] else { return nil }
            guard case .integer(let number) = value, range.contains(number) else {
                throw problem(
                    name, "expected an integer from \(range.lowerBound) to \(range.upperBound), found \(value.kind)")
            }
            return number
        }

        func refuseOthers(_ known: Set<String>, ignoring ignored: Set<String> = []) throws(Problem) {
            for name in members.keys.sorted() where !known.contains(name) && !ignored.contains(name) {
                throw problem(name, "is not a known member" + Spelling.hint(for: name, among: known.sorted()))
            }
        }
    }

    // MARK: Writing

    /// Writes the plan's members into an open object.
    package func write(to writer: inout JSONWriter) {
        if let serve { writer.member("serve", serve) }
        if !labels.isEmpty {
            writer.key("labels")
            writer.object { writer in
                for (label, version) in labels.sorted(by: { $0.key < $1.key }) { writer.member(label, version) }
            }
        }
        if let candidate {
            writer.key("candidate")
            writer.object { writer in
                writer.member("version", candidate.version)
                writer.member("share", candidate.share)
                writer.member("shadow", candidate.shadow)
                if let sticky = candidate.sticky { writer.member("sticky", sticky) }
            }
        }
        if let promote {
            writer.key("promote")
            writer.object { writer in
                writer.member("after", promote.after)
                writer.member("agreement", promote.agreement)
                if let latency = promote.latency { writer.member("latency", latency) }
            }
        }
    }

    /// The versions named by the plan.
    package var versions: Set<String> {
        Set(labels.values).union([serve, candidate?.version].compactMap { $0 })
    }

    /// The version of a label: one of ``labels``, `stable` for the serving version, or `candidate` for the candidate.
    /// - Parameter serving: the serving version if the plan does not name one.
    /// - Returns: nil if there is no such label.
    package func version(labelled label: String, serving: String?) -> String? {
        if let version = labels[label] { return version }
        switch label {
        case "stable": return serve ?? serving
        case "candidate": return candidate?.version
        default: return nil
        }
    }
}
