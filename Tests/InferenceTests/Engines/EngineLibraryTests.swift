import Foundation
import Glibc
import Inference
import SystemSupport
import TestSupport
import Testing

/// The search for the file of a library that is opened at run time.
@Suite struct EngineLibraryTests {
    private let folder: TemporaryFolder
    private let library = EngineLibrary(
        engine: "Runner", setting: "runner_path", package: "ocelli-runner", folder: "runner", name: "librunner.so",
        linked: ".2")

    init() throws { folder = try TemporaryFolder() }

    /// A function of the C library, next to which there is no such library.
    private func anchor(_ name: String = "strlen") throws -> UnsafeRawPointer {
        UnsafeRawPointer(try #require(dlsym(dlopen(nil, RTLD_NOW), name), "\(name)"))
    }

    private func found(_ path: String) throws -> String { try library.file(path, nextTo: try anchor()) }

    private func reason(_ body: () throws -> String) -> String? {
        let error = #expect(throws: EngineError.self) { try body() }
        return error?.message
    }

    @Test("a file is taken as it is named, and in a folder the name that programs are linked with")
    func files() throws {
        let path = try folder.write([
            "librunner.so.2.10.1": "", "librunner.so.2": "", "librunner.so": "", "other.so": "",
        ])
        #expect(try found(path) == path + "/librunner.so.2")
        #expect(try found(path + "/librunner.so") == path + "/librunner.so")
        // The file is not checked here: the linker refuses it.
        #expect(try found(path + "/other.so") == path + "/other.so")
    }

    @Test("without the linked name the newest version is taken, by its numbers")
    func versions() throws {
        let path = try folder.write([
            "librunner.so.2.9.12": "", "librunner.so.2.10.1": "", "librunner.so": "", "librunner.solid": "",
            "lib.so.3": "",
        ])
        #expect(try found(path) == path + "/librunner.so.2.10.1")
    }

    @Test("a path without the library is refused by the names of the setting and of the file")
    func missingFiles() throws {
        let path = try folder.write(["librunner.solid": "", "librunner.s": ""])
        for path in [path, path + "/nothing"] {
            #expect(
                reason { try found(path) }
                    == "the engine could not use Runner: runner_path: \(path) is neither a file nor a folder that holds librunner.so"
            )
        }
    }

    @Test("a bare name is a path in the working folder, not one of the dynamic linker")
    func bareNames() throws {
        #expect(reason { try found("libc.so.6") }?.contains("runner_path: libc.so.6 is neither a file") == true)
    }

    @Test("without a path an engine that is not installed is reported with the package and the setting")
    func missingPackages() throws {
        #expect(
            reason { try found("") }
                == "the engine could not use Runner: it is not installed: install the package ocelli-runner, or set runner_path to its library"
        )
    }

    /// OpenVINO's library with its links resolved, and a function of it.
    private func openVINO() throws -> (file: String, function: UnsafeRawPointer) {
        let function = try anchor("ov_get_openvino_version")
        return (try #require(FilePath.library(containing: function)), function)
    }

    @Test("without a path the library is found next to that of the first engine")
    func neighbours() throws {
        let (file, function) = try openVINO()
        let library = EngineLibrary(
            engine: "Runner", setting: "runner_path", package: "ocelli-runner", folder: "runner",
            name: try #require(FilePath.name(of: file)))
        #expect(try FilePath.resolved(library.file("", nextTo: function)) == file)
    }

    @Test(
        "without a path the library is found in the neighbouring folder of a checkout",
        .enabled(if: TestEngines.hasLiteRT, "\(TestEngines.liteRTAbsence)"))
    func neighbouringFolders() throws {
        let library = EngineLibrary(
            engine: "LiteRT", setting: "litert_path", package: "ocelli-litert", folder: "litert", name: "libLiteRt.so")
        let found = try library.file("", nextTo: try openVINO().function)
        #expect(FilePath.resolved(found) == FilePath.resolved(TestEngines.liteRT.path))
    }

    @Test("the version is the end of the file's name after links are followed")
    func versionsOfFiles() throws {
        let path = try folder.write(["librunner.so.2.3.0": "", "runner-4.5.so": ""])
        for (link, target) in [("librunner.so", "librunner.so.2.3.0"), ("librunner.so.9", "runner-4.5.so")] {
            try FileManager.default.createSymbolicLink(atPath: path + "/" + link, withDestinationPath: target)
        }
        #expect(library.version(ofFile: path + "/librunner.so") == "2.3.0")
        #expect(library.version(ofFile: path + "/librunner.so.2.3.0") == "2.3.0")
        #expect(library.version(ofFile: path + "/librunner.so.9") == "")
        #expect(library.version(ofFile: path + "/nothing") == "")
    }
}
