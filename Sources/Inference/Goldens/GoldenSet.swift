internal import Glibc
internal import JSON
package import Rollout

/// A picture in a bundle's folder `golden`, with the expected answer.
package struct Golden: Sendable {
    /// The picture's path relative to the folder.
    package let name: String
    let path: String
    /// The SHA-256 of the picture that was answered, in hexadecimal digits; nil if the line does not state it.
    let digest: String?
    package let expected: ComparableAnswer
}

/// The goldens of a bundle, pictures with known answers: `golden/expected.jsonl` and the pictures next to it.
package struct GoldenSet: Sendable {
    /// The fraction of the goldens that must be answered as expected.
    package let agreement: Double
    package let goldens: [Golden]

    package static let folder = "golden", file = "expected.jsonl"
    /// The maximum number of pictures in a bundle.
    package static let maximum = 1_000
    /// The maximum size in bytes of `expected.jsonl`, and of a picture.
    private static let largestFile = 256 << 20
    static let largestPicture = 64 << 20
    /// The maximum number of problems that are reported for one file: a mistake in a script often repeats in every
    /// line.
    private static let maximumProblems = 10

    /// Reads a bundle's goldens; each error is added to the problems. Blocks.
    /// - Parameters:
    ///   - path: the bundle's folder.
    ///   - agreement: the value in model.json; nil if it does not set one.
    /// - Returns: nil if the bundle has no goldens.
    init?(bundle path: String, agreement: Double?, problems: ProblemList) {
        let folder = path + "/" + Self.folder, place = Self.folder + "/" + Self.file
        self.agreement = agreement ?? 1
        switch BundleFile.read(folder + "/" + Self.file, maximum: Self.largestFile) {
        case .success(let data):
            var reader = LineReader(folder: folder, problems: problems)
            let lines = data.split(separator: 0x0A, omittingEmptySubsequences: false)
            for (index, line) in lines.enumerated() where line.contains(where: { $0 > 0x20 }) {
                guard reader.goldens.count < Self.maximum else {
                    problems.add(place, "has more than \(Self.maximum) pictures")
                    break
                }
                guard reader.mistakes < Self.maximumProblems else { break }
                reader.read([UInt8](line), place: "\(place):\(index + 1)")
            }
            goldens = reader.goldens
            if goldens.isEmpty, reader.mistakes == 0 { problems.add(place, "has no line") }
        case .failure(let problem):
            goldens = []
            // A folder of that name may serve another purpose, unless model.json mentions goldens.
            guard agreement != nil || problem.reason != "is missing" else { return nil }
            problems.add(place, problem.reason)
        }
    }

    /// Reads the lines.
    private struct LineReader {
        let folder: String
        let problems: ProblemList
        let answers = AnswerReader(readMask: ClassPicture.masks)
        var goldens: [Golden] = []
        var mistakes = 0
        private var places: [String: Int] = [:]

        init(folder: String, problems: ProblemList) {
            self.folder = folder
            self.problems = problems
        }

        mutating func read(_ line: [UInt8], place: String) {
            do throws(AnswerReader.Problem) {
                let value: JSONValue
                do throws(JSONTextError) {
                    value = try JSONTree.read(line, .json).value
                } catch {
                    throw AnswerReader.Problem("is not valid JSON: \(error.reason)")
                }
                let golden = try golden(value)
                // As with --resume, the last line for a picture is used.
                if let before = places[golden.name] {
                    goldens[before] = golden
                } else {
                    places[golden.name] = goldens.count
                    goldens.append(golden)
                }
            } catch {
                mistakes += 1
                problems.add(place, error.reason)
            }
        }

        private func golden(_ value: JSONValue) throws(AnswerReader.Problem) -> Golden {
            guard case .object(let members) = value, case .string(let file)? = members["file"] else {
                throw AnswerReader.Problem("expected an object with \"file\", the picture's name")
            }
            let name = try self.name(file)
            var digest: String?
            if case .string(let text)? = members["digest"] {
                digest = text.hasPrefix("sha256:") ? String(text.dropFirst(7)) : text
            }
            let expected: ComparableAnswer
            if case .string(let label)? = members["label"] {
                expected = .classes([ComparableAnswer.ScoredLabel(index: 0, label: label, confidence: 1)])
            } else {
                expected = try answers.answer(value)
            }
            if case .values = expected {
                throw AnswerReader.Problem(
                    "is an answer of /predict: expected one of classify, detect, segment, keypoints, embed or read")
            }
            return Golden(name: name, path: folder + "/" + name, digest: digest, expected: expected)
        }

        /// The path relative to the folder. Commands that were called in another folder also write the path to it.
        private func name(_ file: String) throws(AnswerReader.Problem) -> String {
            func refusal(_ reason: String) -> AnswerReader.Problem {
                AnswerReader.Problem("\"\(file.prefix(200))\" \(reason)")
            }
            var parts = file.split(separator: "/", omittingEmptySubsequences: false)
            guard !file.isEmpty, !file.utf8.contains(0), !parts.contains("..") else {
                throw refusal("is not inside \(GoldenSet.folder)")
            }
            parts.removeAll { $0 == "." }
            var name = parts.joined(separator: "/")
            if name.hasPrefix("/") || !Self.exists(folder + "/" + name),
                let last = parts.dropLast().lastIndex(where: { $0 == GoldenSet.folder })
            {
                name = parts[(last + 1)...].joined(separator: "/")
            }
            guard !name.hasPrefix("/"), !name.isEmpty else { throw refusal("is not inside \(GoldenSet.folder)") }
            let path = folder + "/" + name
            guard Self.exists(path) else { throw refusal("is not in \(GoldenSet.folder)") }
            guard LinkPolicy.within([folder]).allows(path) else {
                throw refusal("is a link that leads out of \(GoldenSet.folder)")
            }
            return name
        }

        private static func exists(_ path: String) -> Bool {
            var status = stat()
            return stat(path, &status) == 0
        }
    }
}
