import Foundation
import TestSupport
import Testing

/// Rollouts of models that are used through other servers' interfaces: their answers are compared like Ocelli's own.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct RolloutDialectTests {
    /// An interface that answers with tensors, and a request to it.
    enum Interface: String, CaseIterable, CustomTestStringConvertible {
        case tensorFlowServing, listOfTwo, sageMaker, openInference, openInferenceBinary

        var testDescription: String { rawValue }

        private var path: String {
            switch self {
            case .tensorFlowServing, .listOfTwo: "/v1/models/ten:predict"
            case .sageMaker: "/invocations"
            case .openInference, .openInferenceBinary: "/v2/models/ten/infer"
            }
        }

        /// Sends a request with the picture.
        func ask(_ daemon: Daemon, _ picture: Data, in folder: URL) throws -> Answer {
            let coded = "{\"b64\": \"\(picture.base64EncodedString())\"}"
            var body: Data, fields: [String] = []
            switch self {
            case .tensorFlowServing, .sageMaker: body = Data("{\"instances\": [\(coded)]}".utf8)
            case .listOfTwo: body = Data("{\"instances\": [\(coded), \(coded)]}".utf8)
            case .openInference, .openInferenceBinary:
                let wanted = self == .openInference ? "" : ", \"parameters\": {\"binary_data_output\": true}"
                body = Data(
                    """
                    {"inputs": [{"name": "image", "shape": [1], "datatype": "BYTES", \
                    "parameters": {"binary_data_size": \(picture.count + 4)}}]\(wanted)}
                    """.utf8)
                fields = ["-H", "Inference-Header-Content-Length: \(body.count)"]
                withUnsafeBytes(of: UInt32(picture.count).littleEndian) { body.append(contentsOf: $0) }
                body += picture
            }
            let file = folder.appendingPathComponent("body")
            try body.write(to: file)
            return try Curl.run(
                daemon.url + path, ["-H", "Content-Type: application/json", "--data-binary", "@" + file.path] + fields)
        }
    }

    /// Sends requests until the rollout is in a state.
    private func ask(_ interface: Interface, _ daemon: Daemon, until state: String, _ folder: URL) throws -> [String:
        Any]
    {
        let picture = try Data(contentsOf: BadInputTests.seven)
        var found: [String: Any] = [:]
        for _ in 0..<300 {
            let answer = try interface.ask(daemon, picture, in: folder)
            #expect(answer.status == 200, "\(answer.text)")
            found = try RolloutTests.state(daemon)
            if found["state"] as? String == state { break }
            usleep(5_000)
        }
        return found
    }

    private static let plan =
        #"{"serve": "1", "candidate": {"version": "2", "shadow": 1}, "promote": {"after": 10, "agreement": 0.5}}"#

    private static func daemon(_ models: RolloutTests.Models) throws -> Daemon {
        try Daemon(["--models", models.folder.path, "--dialects", "tfserving,sagemaker", "--default-model", "ten"])
    }

    @Test("a candidate with equal tensors is promoted, whichever protocol clients use", arguments: Interface.allCases)
    func equalTensors_promoteTheCandidate(_ interface: Interface) throws {
        let models = try RolloutTests.Models(["1", "2"])
        let daemon = try Self.daemon(models)
        #expect(try RolloutTests.put(Self.plan, to: daemon).json["state"] as? String == "comparing")
        let found = try ask(interface, daemon, until: "promoted", models.folder)
        #expect(found["state"] as? String == "promoted" && found["agreement"] as? Double == 1, "\(found)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    /// TensorFlow Serving's body has no place for the version.
    @Test("the candidate's answers name its version, whichever protocol clients use", arguments: Interface.allCases)
    func candidatesShare_isNamed(_ interface: Interface) throws {
        let models = try RolloutTests.Models(["1", "2"])
        let daemon = try Self.daemon(models)
        let picture = try Data(contentsOf: BadInputTests.seven)
        for (share, version) in [(0, "1"), (1, "2")] {
            let plan = #"{"serve": "1", "candidate": {"version": "2", "share": \#(share)}}"#
            #expect(try RolloutTests.put(plan, to: daemon).status == 200)
            let answer = try interface.ask(daemon, picture, in: models.folder)
            let inHeader = String(decoding: answer.body.prefix(200), as: UTF8.self)
            let isNamed =
                switch interface {
                case .tensorFlowServing, .listOfTwo, .sageMaker: answer.headers["model-version"] == version
                case .openInference, .openInferenceBinary: inHeader.contains("\"model_version\":\"\(version)\"")
                }
            #expect(isNamed, "\(version): \(answer.headers) \(inHeader)")
        }
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    /// The candidate's input hardly depends on the picture: its tensors differ, although its labels would not.
    @Test(
        "a candidate with other tensors is rolled back, whichever protocol clients use", arguments: Interface.allCases)
    func otherTensors_rollTheCandidateBack(_ interface: Interface) throws {
        let models = try RolloutTests.Models(["1", "2"])
        let file = models.place.appendingPathComponent("2/model.json")
        let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
        let usual = "\"standard\": \"[0,1]\""
        try #require(text.contains(usual))
        try Data(text.replacing(usual, with: "\"scale\": 1e-9, \"bias\": 0.0").utf8).write(to: file)
        let daemon = try Self.daemon(models)
        #expect(try RolloutTests.put(Self.plan, to: daemon).json["state"] as? String == "comparing")
        let found = try ask(interface, daemon, until: "rolled_back", models.folder)
        #expect(found["state"] as? String == "rolled_back" && found["agreement"] as? Double == 0, "\(found)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }
}
