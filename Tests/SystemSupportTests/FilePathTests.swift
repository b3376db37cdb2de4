import SystemSupport
import Testing

/// The parts of paths.
@Suite struct FilePathTests {
    @Test("the name of a path is its last part that is not empty; slashes at the end are ignored except for the root")
    func partsOfPaths() {
        #expect(["a", "/a", "b/a", "b/a//"].allSatisfy { FilePath.name(of: $0) == "a" })
        #expect(FilePath.name(of: "/") == nil && FilePath.name(of: "") == nil)
        #expect(["b/a", "b/a/", "b/a//"].allSatisfy { FilePath.withoutSlashesAtEnd($0) == "b/a" })
        #expect(FilePath.withoutSlashesAtEnd("//") == "/" && FilePath.withoutSlashesAtEnd("").isEmpty)
        #expect(FilePath.parent(of: "/a/b") == "/a" && FilePath.parent(of: "a/b/c") == "a/b")
        #expect(FilePath.parent(of: "a") == "." && FilePath.parent(of: "/a") == "/" && FilePath.parent(of: "/") == "/")
        #expect(FilePath.start(inside: "/a") == "/a/" && FilePath.start(inside: "/") == "/")
    }
}
