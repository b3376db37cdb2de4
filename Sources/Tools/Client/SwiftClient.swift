internal import SystemSupport
internal import WireFormats

/// Writes a client in Swift that needs only Foundation: one file for Swift 6, for Linux and Apple's systems.
struct SwiftClient {
    private let plan: ClientPlan
    private var type: String { plan.type }
    private var names: ClientNames { plan.names }

    init(_ plan: ClientPlan) { self.plan = plan }

    var text: String {
        ([head, input, output, labels, client, error, wire].filter { !$0.isEmpty }.joined(separator: "\n\n")) + "\n"
    }

    // MARK: Head

    private var head: String {
        var lines = ClientHeader(plan).lines.map { "// " + $0 }
        lines += ["import Foundation", "", "#if canImport(FoundationNetworking)"]
        lines += ["    import FoundationNetworking", "#endif"]
        return lines.joined(separator: "\n")
    }

    // MARK: Inputs

    private var input: String {
        let members = plan.inputs.map {
            "    /// \(ClientNames.comment($0.feature.tensor)).\n    public var \($0.name): \(typed($0))"
        }
        let assigned = plan.inputs.map { "        self.\($0.name) = \($0.name)" }
        return """
            /// The inputs of \(type).
            public struct \(type)Input: Sendable {
            \(members.joined(separator: "\n"))

                public init(\(parameters)) {
            \(assigned.joined(separator: "\n"))
                }
            }
            """
    }

    private var parameters: String {
        plan.inputs.map { "\($0.name): \(typed($0))\($0.feature.isOptional ? " = nil" : "")" }.joined(separator: ", ")
    }

    private func typed(_ member: ClientPlan.Member) -> String {
        Self.type(of: member.feature.form) + (member.feature.isOptional ? "?" : "")
    }

    private static func type(of form: ModelInterface.Form) -> String {
        switch form {
        case .number: "Double"
        case .integer: "Int64"
        case .flag: "Bool"
        case .text: "String"
        case .picture, .bytes: "Data"
        case .depth: "DepthMap"
        case .dictionary(let hasIntegerKeys): hasIntegerKeys ? "[Int64: Double]" : "[String: Double]"
        case .rows: "[[String: Double]]"
        case .tensors(let element): "[Tensor<\(type(of: element))>]"
        case .array(let element, let extents):
            String(repeating: "[", count: extents.count) + type(of: element)
                + String(repeating: "]", count: extents.count)
        }
    }

    // MARK: Outputs

    private var output: String {
        switch plan.call {
        case .predict(let members): outputs(members)
        case .task(let answer): SwiftAnswers(plan).text(of: answer)
        }
    }

    private func outputs(_ members: [ClientPlan.Member]) -> String {
        var lines = ["/// The outputs of \(type).", "public struct \(type)Output: Sendable {"]
        for member in members {
            lines.append("    /// \(ClientNames.comment(member.feature.tensor)).")
            lines.append("    public let \(member.name): \(typed(member))")
        }
        if let scores = plan.scores { lines += labels(of: scores) }
        if plan.cases != nil, plan.scores?.feature.form == .rows {
            if !members.contains(where: { $0.name == "classLabelCases" }) {
                lines += [
                    "    /// The labels as cases; nil if the model has been given other labels since.",
                    "    public var classLabelCases: [\(type)Label?] { classLabels.map { \(type)Label(rawValue: $0) } }",
                ]
            }
        } else if plan.cases != nil, !members.contains(where: { $0.name == "classLabelCase" }) {
            let label = plan.label?.name ?? "classLabel"
            lines += [
                "    /// The label as a case; nil if the model has been given other labels since.",
                "    public var classLabelCase: \(type)Label? { \(type)Label(rawValue: \(label)) }",
            ]
        }
        if members.contains(where: { $0.feature.form == .depth }) {
            lines += [
                "", "    /// A depth for each pixel of the picture: minimum + (maximum - minimum) * value / 65535.",
                "    public struct DepthMap: Decodable, Sendable {", "        /// The values, a PNG of 16 bits.",
                "        public let png: Data", "        public let minimum: Double",
                "        public let maximum: Double", "",
                "        enum CodingKeys: String, CodingKey { case png = \"b64\", minimum = \"min\", maximum = \"max\" }",
                "    }",
            ]
        }
        if members.contains(where: \.isTensors) {
            lines += [
                "", "    /// A tensor of any shape.", "    public struct Tensor<Element: Sendable>: Sendable {",
                "        public let shape: [Int]", "        /// The elements in row-major order.",
                "        public let values: [Element]", "    }",
            ]
        }
        return (lines + ["}"]).joined(separator: "\n")
    }

    /// The best label of scores, or of each row of them.
    private func labels(of scores: ClientPlan.Member) -> [String] {
        let best = "filter { !$0.value.isNaN }.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key ?? \"\""
        if scores.feature.form == .rows {
            return [
                "", "    /// The label with the greatest number, for each row; empty without labels.",
                "    public var classLabels: [String] {", "        \(scores.name).map { row in",
                "            row.\(best)",
                "        }", "    }",
            ]
        }
        return [
            "", "    /// The label with the greatest number; empty without labels.",
            "    public var classLabel: String {", "        \(scores.name).\(best)", "    }",
            "    /// The number of each label.",
            "    public var classLabelProbs: [String: Double] { \(scores.name) }",
        ]
    }

    private var labels: String {
        guard let cases = plan.cases else { return "" }
        let lines = cases.map { "    case \($0.name) = \(names.literal($0.text))" }
        return """
            /// The labels of \(type).
            public enum \(type)Label: String, CaseIterable, Sendable {
            \(lines.joined(separator: "\n"))
            }
            """
    }

    // MARK: The client

    private var client: String {
        let arguments = plan.inputs.map { "\($0.name): \($0.name)" }.joined(separator: ", ")
        let fixed = plan.query.map { "(\"\($0.name)\", \"\($0.value)\")" }.joined(separator: ", ")
        return """
            /// The model on a server. Predictions may run at the same time; cancelling a task cancels its request.
            public final class \(type): Sendable {
                private let base: String, token: String?, model: String
                private let session: URLSession

                /// - Parameters:
                ///   - url: the server's address, such as `http://127.0.0.1:8080`, or `https` with a path of a proxy.
                ///   - token: the bearer token, if the server asks for one.
                ///   - timeout: the most seconds that a prediction may take.
                ///   - model: the name under which the model is served.
                public init(
                    url: String, token: String? = nil, timeout: TimeInterval = 60, model: String = \(names.literal(plan.model.name))
                ) {
                    (self.base, self.token, self.model) = (url, token, model)
                    let configuration = URLSessionConfiguration.ephemeral
                    configuration.timeoutIntervalForRequest = timeout
                    configuration.timeoutIntervalForResource = timeout
                    session = URLSession(configuration: configuration, delegate: \(type)Wire.Redirects(), delegateQueue: nil)
                }

                public convenience init(
                    url: URL, token: String? = nil, timeout: TimeInterval = 60, model: String = \(names.literal(plan.model.name))
                ) {
                    self.init(url: url.absoluteString, token: token, timeout: timeout, model: model)
                }

                deinit { session.finishTasksAndInvalidate() }

                /// Runs the model.
                /// - Parameter query: parameters of the route, such as `["timeout_ms": "500"]`.
                /// - Throws: ``\(type)Error`` for an error of the server, `URLError` without an answer.
                public func prediction(input: \(type)Input, query: [String: String] = [:]) async throws -> \(type)Output {
                    let fixed: [(String, String)] = [\(fixed)]
                    let all = fixed.filter { query[$0.0] == nil } + query.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
                    var request = URLRequest(url: try \(type)Wire.url(base, model, "\(plan.route)", all))
                    request.httpMethod = "POST"
                    if let token { request.setValue("Bearer \\(token)", forHTTPHeaderField: "Authorization") }
            \(body)
                    let (data, response) = try await session.data(for: request)
                    return try \(type)Wire.output(data, response)
                }

                /// Runs the model.
                public func prediction(\(parameters)) async throws -> \(type)Output {
                    try await prediction(input: \(type)Input(\(arguments)))
                }
            }
            """
    }

    private var body: String {
        if let picture = plan.picture {
            return """
                        request.setValue("application/octet-stream", forHTTPHeaderField: "Content-Type")
                        request.httpBody = input.\(picture.name)
                """
        }
        let lines = plan.inputs.map { member -> String in
            let key = names.literal(member.feature.name)
            guard member.feature.isOptional else {
                return "        inputs[\(key)] = \(encoded("input.\(member.name)", member.feature.form))"
            }
            return
                "        if let given = input.\(member.name) { inputs[\(key)] = \(encoded("given", member.feature.form)) }"
        }
        return """
                    var inputs: [String: \(type)Wire.Value] = [:]
            \(lines.joined(separator: "\n"))
                    request.setValue("application/json", forHTTPHeaderField: "Content-Type")
                    request.httpBody = try JSONEncoder().encode(["inputs": inputs])
            """
    }

    private func encoded(_ value: String, _ form: ModelInterface.Form) -> String {
        let (element, depth) = form.elements
        func one(_ value: String) -> String {
            switch element {
            case .number: ".number(\(value))"
            case .integer: ".integer(\(value))"
            case .flag: ".flag(\(value))"
            case .text: ".text(\(value))"
            case .picture, .bytes, .depth: ".bytes(\(value))"
            case .dictionary(true):
                ".numbers([String: Double](uniqueKeysWithValues: \(value).map { (String($0.key), $0.value) }))"
            // Inputs are no sequences.
            case .dictionary, .array, .rows, .tensors: ".numbers(\(value))"
            }
        }
        // `.list(x.map { .list($0.map { .number($0) }) })`
        return (0..<depth).reversed().reduce(one(depth == 0 ? value : "$0")) { inner, level in
            ".list(\(level == 0 ? value : "$0").map { \(inner) })"
        }
    }

    private var error: String {
        """
        /// An answer of the server that is an error.
        public struct \(type)Error: Error, Sendable, CustomStringConvertible {
            /// The HTTP status.
            public let status: Int
            /// The kind of error, such as `invalid_image`; `invalid_answer` if the answer is not the model's.
            public let code: String
            /// A sentence for people.
            public let message: String
            /// The identifier of the request in the server's log.
            public let requestID: String?
            /// The seconds to wait before another attempt, if the server says so.
            public let retryAfter: Double?

            public var description: String { "\\(status) \\(code): \\(message)" }
        }
        """
    }

    // MARK: The wire

    private var wire: String {
        var parts = [request, answer]
        if plan.picture == nil { parts.append(Self.value) }
        if case .predict(let members) = plan.call { parts.append(predicted(members)) }
        return "/// Bytes of requests and answers.\nprivate enum \(type)Wire {\n"
            + parts.joined(separator: "\n\n").split(separator: "\n", omittingEmptySubsequences: false).map {
                $0.isEmpty ? "" : "    " + $0
            }.joined(separator: "\n") + "\n}"
    }

    private var request: String {
        """
        /// Redirects are not followed: they would take the token elsewhere.
        final class Redirects: NSObject, URLSessionTaskDelegate {
            func urlSession(
                _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
                newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
            ) { completionHandler(nil) }
        }

        static func url(
            _ base: String, _ model: String, _ route: String, _ query: [(String, String)]
        ) throws -> URL {
            var text = base
            while text.hasSuffix("/") { text.removeLast() }
            text += "/v1/models/\\(escaped(model))/\\(route)"
            if !query.isEmpty { text += "?" + query.map { "\\(escaped($0.0))=\\(escaped($0.1))" }.joined(separator: "&") }
            guard base.hasPrefix("http://") || base.hasPrefix("https://"), let url = URL(string: text) else {
                throw URLError(.badURL)
            }
            return url
        }

        private static func escaped(_ text: String) -> String {
            let digits = Array("0123456789ABCDEF")
            return text.utf8.reduce(into: "") { result, byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E:
                    result.unicodeScalars.append(Unicode.Scalar(byte))
                default: result += "%\\(digits[Int(byte >> 4)])\\(digits[Int(byte & 15)])"
                }
            }
        }
        """
    }

    private var answer: String {
        """
        static func output(_ data: Data, _ response: URLResponse) throws -> \(type)Output {
            let response = response as? HTTPURLResponse
            let status = response?.statusCode ?? 0
            let identifier = response?.value(forHTTPHeaderField: "X-Request-ID")
            let retryAfter = response?.value(forHTTPHeaderField: "Retry-After").flatMap { Double($0) }
            guard status == 200 else {
                let failure = try? JSONDecoder().decode(Failure.self, from: data)
                throw \(type)Error(
                    status: status, code: failure?.code ?? "http_\\(status)",
                    message: failure?.error ?? String(decoding: data.prefix(500), as: UTF8.self),
                    requestID: failure?.request_id ?? identifier, retryAfter: retryAfter)
            }
            do {
                \(decoding)
            } catch {
                throw \(type)Error(
                    status: status, code: "invalid_answer", message: "the answer is not that of the model: \\(error)",
                    requestID: identifier, retryAfter: nil)
            }
        }

        private struct Failure: Decodable {
            let error: String, code: String, request_id: String?
        }
        """
    }

    private var decoding: String {
        switch plan.call {
        case .predict: "return try JSONDecoder().decode(Answer.self, from: data).outputs.output()"
        case .task: "return try JSONDecoder().decode(\(type)Output.self, from: data)"
        }
    }

    private static let value = """
        indirect enum Value: Encodable {
            case number(Double), integer(Int64), flag(Bool), text(String), bytes(Data), numbers([String: Double])
            case list([Value])

            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                switch self {
                // Not a number is a missing value.
                case .number(let value): if value.isNaN { try container.encodeNil() } else { try container.encode(value) }
                case .integer(let value): try container.encode(value)
                case .flag(let value): try container.encode(value)
                case .text(let value): try container.encode(value)
                case .bytes(let value): try container.encode(["b64": value.base64EncodedString()])
                case .numbers(let value): try container.encode(value)
                case .list(let values): try container.encode(values)
                }
            }
        }
        """

    /// The outputs as they are in JSON.
    private func predicted(_ members: [ClientPlan.Member]) -> String {
        let keys = members.enumerated().map { "case m\($0) = \(names.literal($1.feature.name))" }
        let fields = members.enumerated().map { index, member in
            "let m\(index): \(wireType(member.feature.form))\(member.feature.isOptional ? "?" : "")"
        }
        let values = members.enumerated().map { index, member in
            let form = member.feature.form
            guard member.feature.isOptional else { return "\(member.name): \(decoded("m\(index)", form))" }
            let mayFail = form == .dictionary(hasIntegerKeys: true)
            return "\(member.name): \(mayFail ? "try " : "")m\(index).map { given in \(decoded("given", form)) }"
        }
        let forms = members.map { $0.feature.form.elements.form }
        var parts = [
            """
            struct Answer: Decodable {
                let outputs: Outputs
            }

            struct Outputs: Decodable {
            \(fields.map { "    " + $0 }.joined(separator: "\n"))

                enum CodingKeys: String, CodingKey {
            \(keys.map { "        " + $0 }.joined(separator: "\n"))
                }

                func output() throws -> \(type)Output {
                    \(type)Output(
                        \(values.joined(separator: ",\n            ")))
                }
            }
            """
        ]
        let elements = forms.map { if case .tensors(let element) = $0 { element } else { $0 } }
        if elements.contains(where: { if case .dictionary = $0 { true } else { $0 == .number || $0 == .rows } }) {
            parts.append(Self.number)
        }
        if elements.contains(.integer) { parts.append(Self.whole) }
        if forms.contains(.rows) { parts.append(Self.rows) }
        if members.contains(where: \.isTensors) { parts.append(Self.nested) }
        if forms.contains(where: { $0 == .picture || $0 == .bytes }) { parts.append(Self.bytes) }
        if forms.contains(.dictionary(hasIntegerKeys: true)) { parts.append(Self.keys) }
        return parts.joined(separator: "\n\n")
    }

    private func wireType(_ form: ModelInterface.Form) -> String {
        let (element, depth) = form.elements
        let name =
            switch element {
            case .number: "Number"
            case .integer: "Whole"
            case .flag: "Bool"
            case .text: "String"
            case .picture, .bytes: "Bytes"
            case .depth: "\(type)Output.DepthMap"
            case .rows: "Rows"
            case .tensors(let element): "[Nested<\(wireType(element))>]"
            case .dictionary, .array: "[String: Number]"
            }
        return String(repeating: "[", count: depth) + name + String(repeating: "]", count: depth)
    }

    private func decoded(_ value: String, _ form: ModelInterface.Form) -> String {
        let (element, depth) = form.elements
        func one(_ value: String) -> String {
            switch element {
            case .flag, .text, .depth: value
            case .dictionary(true): "try keyed(\(value))"
            case .dictionary: "\(value).mapValues(\\.value)"
            case .tensors(let element):
                "\(value).map { \(type)Output.Tensor(shape: $0.shape, values: \(Self.values(of: element))) }"
            default: "\(value).value"
            }
        }
        if depth > 0, element == .flag || element == .text { return value }
        return (0..<depth).reversed().reduce(one(depth == 0 ? value : "$0")) { inner, level in
            "\(level == 0 ? value : "$0").map { \(inner) }"
        }
    }

    /// The elements of a tensor on the wire, `$0`.
    private static func values(of element: ModelInterface.Form) -> String {
        element == .flag || element == .text ? "$0.values" : "$0.values.map(\\.value)"
    }

    private static let number = """
        /// A number; null is not a number.
        struct Number: Decodable {
            let value: Double

            init(from decoder: any Decoder) throws {
                let container = try decoder.singleValueContainer()
                value = container.decodeNil() ? .nan : try container.decode(Double.self)
            }
        }
        """

    private static let whole = """
        struct Whole: Decodable {
            let value: Int64

            init(from decoder: any Decoder) throws { value = try decoder.singleValueContainer().decode(Int64.self) }
        }
        """

    private static let rows = """
        /// Numbers by key for each row; the object of a single row has no list around it.
        struct Rows: Decodable {
            let value: [[String: Double]]

            init(from decoder: any Decoder) throws {
                let isList = (try? decoder.unkeyedContainer()) != nil
                let container = try decoder.singleValueContainer()
                let rows = try isList
                    ? container.decode([[String: Number]].self) : [container.decode([String: Number].self)]
                value = rows.map { $0.mapValues(\\.value) }
            }
        }
        """

    private static let nested = """
        /// A tensor as nested lists, all of one length at each level.
        struct Nested<Element: Decodable>: Decodable {
            let shape: [Int], values: [Element]

            init(from decoder: any Decoder) throws {
                let container = try decoder.singleValueContainer()
                guard (try? decoder.unkeyedContainer()) != nil else {
                    (shape, values) = ([], [try container.decode(Element.self)])
                    return
                }
                if let elements = try? container.decode([Element].self) {
                    (shape, values) = ([elements.count], elements)
                    return
                }
                let parts = try container.decode([Nested].self), inner = parts.first?.shape ?? []
                guard parts.allSatisfy({ $0.shape == inner }) else {
                    throw DecodingError.dataCorruptedError(in: container, debugDescription: "expected lists of one length")
                }
                (shape, values) = ([parts.count] + inner, parts.flatMap(\\.values))
            }
        }
        """

    private static let bytes = """
        struct Bytes: Decodable {
            let b64: Data
            var value: Data { b64 }
        }
        """

    private static let keys = """
        static func keyed(_ numbers: [String: Number]) throws -> [Int64: Double] {
            var result: [Int64: Double] = [:]
            for (key, number) in numbers {
                guard let key = Int64(key) else { throw URLError(.cannotParseResponse) }
                result[key] = number.value
            }
            return result
        }
        """
}
