import Foundation
import TestSupport
import Testing

/// The lists and claims of the documents agree with the tree; `scripts/check-documents` checks their links and
/// citations.
@Suite struct DocumentsTests {
    private static func text(_ path: String) throws -> String {
        try String(contentsOf: SharedData.packageRoot.appendingPathComponent(path), encoding: .utf8)
    }

    @Test("scripts/README.md names each script of its folder")
    func everyScriptIsInTheREADMEOfItsFolder() throws {
        let readme = try Self.text("scripts/README.md")
        let names = try Self.programs(in: "scripts")
        #expect(names.count > 5)
        for name in names { #expect(readme.contains("`\(name)`"), "scripts/README.md does not name \(name)") }
    }

    /// A benchmark is a folder with `run` and a README that names its programs.
    @Test("each benchmark has a `run` program, and a README that names its programs")
    func everyBenchmarkHasARunAndAREADME() throws {
        let index = try Self.text("Benchmarks/README.md")
        let root = SharedData.packageRoot.appendingPathComponent("Benchmarks")
        let folders = try FileManager.default.contentsOfDirectory(atPath: root.path).filter {
            !$0.contains(".") && $0 != "results"
        }
        #expect(folders.count > 10)
        for folder in folders {
            #expect(index.contains("](\(folder)/README.md)"), "Benchmarks/README.md does not name \(folder)")
            let readme = try Self.text("Benchmarks/\(folder)/README.md")
            let programs = try Self.programs(in: "Benchmarks/" + folder)
            #expect(programs.contains("run"), "\(folder)")
            for name in programs {
                #expect(readme.contains("`Benchmarks/\(folder)/\(name)"), "\(folder)/README.md does not name \(name)")
            }
        }
    }

    /// The executable files in a folder, by their paths in it.
    private static func programs(in folder: String) throws -> [String] {
        let root = SharedData.packageRoot.appendingPathComponent(folder)
        return try FileManager.default.subpathsOfDirectory(atPath: root.path)
            .filter { FileManager.default.isExecutableFile(atPath: root.appendingPathComponent($0).path) }
            .filter { path in
                let attributes = try? FileManager.default.attributesOfItem(
                    atPath: root.appendingPathComponent(path).path)
                return attributes?[.type] as? FileAttributeType == .typeRegular
            }
    }

    /// Each claim at the top of README.md has a command in its table "Evidence", with existing tests and programs.
    @Test("each claim of README.md has a command, of test suites and programs that exist")
    func eachClaimOfTheREADMEHasACommand() throws {
        let text = try Self.text("README.md")
        let top = try #require(text.components(separatedBy: "## Start").first)
        let claims = top.matches(of: /(?m)^- \*\*([^*]+)\*\*:/).map { String($0.output.1) }
        let table = try #require(
            text.components(separatedBy: "## Evidence").last?.components(separatedBy: "\n## ").first)
        let rows = Dictionary(
            uniqueKeysWithValues: table.matches(of: /(?m)^\| ([^|`]+) \| (.+) \|$/).map {
                (String($0.output.1), String($0.output.2))
            })
        #expect(claims.count >= 6)
        for claim in claims { #expect(rows[claim] != nil, "\(claim)") }
        let root = SharedData.packageRoot
        var suites: Set<String> = []
        for case let path as String in FileManager.default.enumerator(atPath: root.appendingPathComponent("Tests").path)
            ?? .init()
        where path.hasSuffix(".swift") {
            suites.formUnion(
                try Self.text("Tests/" + path).matches(of: /(?:struct|class) (\w+Tests)\b/).map { String($0.output.1) })
        }
        for (claim, commands) in rows where claim != "claim" {
            for tests in commands.matches(of: /TESTS='?([\w|\\]+)/) {
                for suite in tests.output.1.replacing("\\", with: "").split(separator: "|") {
                    #expect(suites.contains(String(suite)), "\(claim): there is no \(suite)")
                }
            }
            for program in commands.matches(of: /`((?:Tests|Benchmarks|scripts)\/[\w\/-]+)/) {
                let path = root.appendingPathComponent(String(program.output.1)).path
                #expect(
                    FileManager.default.isExecutableFile(atPath: path), "\(claim): \(program.output.1) is not a program"
                )
            }
        }
    }

    /// The paths in the table of ARCHITECTURE.md exist: files, and folders with a slash, whole or by the end of their
    /// path.
    @Test("each path in the table of ARCHITECTURE.md exists")
    func theMapLeadsSomewhere() throws {
        let root = SharedData.packageRoot
        var paths: Set<String> = []
        for folder in ["Sources", "Tests", "clients", "docs", "scripts", "Benchmarks", "config", "deploy"] {
            let found = try FileManager.default.subpathsOfDirectory(atPath: root.appendingPathComponent(folder).path)
            for path in found {
                var end = Substring(folder + "/" + path)
                paths.insert(String(end))
                while let slash = end.firstIndex(of: "/") {
                    end = end[end.index(after: slash)...]
                    paths.insert(String(end))
                }
            }
        }
        let map = try Self.text("ARCHITECTURE.md").components(separatedBy: "## Where to look").last ?? ""
        var count = 0
        for line in map.split(separator: "\n") where line.hasPrefix("| ") {
            for match in line.matches(of: /`([\w+\/.{},]+)`/) {
                let text = String(match.output.1)
                guard !text.hasPrefix("/"), text.contains("/") || text.hasSuffix(".swift") else { continue }
                for path in Self.expanded(text) {
                    count += 1
                    // As a value, because a failure would otherwise print all paths.
                    let isThere = paths.contains(path)
                    #expect(isThere, "ARCHITECTURE.md: \(path)")
                }
            }
        }
        #expect(count > 50)
    }

    /// `A/{B,C}.swift` as two paths.
    private static func expanded(_ path: String) -> [String] {
        guard let open = path.firstIndex(of: "{"), let close = path.firstIndex(of: "}") else { return [path] }
        return path[path.index(after: open)..<close].split(separator: ",").map {
            String(path[..<open] + $0 + path[path.index(after: close)...])
        }
    }

    /// The articles' code is code of Tests/Consumer, which `scripts/check-consumer` builds and runs.
    @Test("the Swift code in the DocC articles is part of Tests/Consumer, which is built")
    func theArticlesCodeCompiles() throws {
        let folder = "Tests/Consumer/Sources/Consumer/"
        let code = try ["Classify.swift", "Tensor.swift"].map { try Self.text(folder + $0) }.joined()
        for article in [
            "Inference/Inference.docc/ClassifyPictures.md", "ImagePipeline/ImagePipeline.docc/MakeTensors.md",
        ] {
            let blocks = try Self.text("Sources/" + article).matches(of: /```swift\n([\s\S]*?)```/)
            #expect(!blocks.isEmpty)
            for block in blocks { #expect(code.contains(block.output.1), "\(article): \(block.output.1)") }
        }
    }
}
