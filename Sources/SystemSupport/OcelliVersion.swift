/// The version of this build.
package enum OcelliVersion {
    /// The version of the newest entry in CHANGELOG.md.
    package static let number = "0.1.0"
}
