// Re-exports the modules that Inference's API uses: features and engines, bundles, the choice of an engine.
@_exported public import Bundles
@_exported public import EngineAPI
@_exported public import Engines
