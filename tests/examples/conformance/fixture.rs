//! The server for the suite: its methods, and the state between calls.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams,
    CompleteResult, CompletionInfo, GetPromptRequestParams, GetPromptResponse, GetTaskParams,
    GetTaskResult, Implementation, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, RequestStateCodec, ServerCapabilities, ServerInfo, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{RequestContext, SubscriptionContext, SubscriptionSink};
use rmcp::task_manager::TaskManager;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;

use crate::{prompts, resources, tools};

/// How long a client may cache a result, in milliseconds.
const CACHE_TTL_MS: u64 = 60_000;
/// The key that authenticates the state that clients send back in the next round. It is no secret.
const SEAL_KEY: [u8; 32] = [7; 32];

/// One server for all clients. Its clones share their state.
#[derive(Clone)]
pub(crate) struct Fixture {
    listener_table: Arc<ListenerTable>,
    tasks: TaskManager,
    state_codec: RequestStateCodec,
}

#[derive(Default)]
struct ListenerTable {
    /// By key.
    listeners: Mutex<HashMap<u64, SubscriptionSink>>,
    /// The key of the next listener.
    next_key: AtomicU64,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Self {
            listener_table: Arc::default(),
            tasks: TaskManager::new(),
            state_codec: RequestStateCodec::new(SEAL_KEY),
        }
    }

    /// Returns the manager of the tasks.
    pub(crate) fn tasks(&self) -> &TaskManager {
        &self.tasks
    }

    /// Returns the current listeners.
    pub(crate) fn listeners(&self) -> Vec<SubscriptionSink> {
        self.lock_listeners().values().cloned().collect()
    }

    fn lock_listeners(&self) -> MutexGuard<'_, HashMap<u64, SubscriptionSink>> {
        self.listener_table.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Encodes and authenticates `state` for a client.
    ///
    /// # Errors
    /// When `state` cannot be encoded.
    pub(crate) fn seal(&self, state: &Value) -> Result<String, ErrorData> {
        self.state_codec
            .seal_json(state)
            .map_err(|e| ErrorData::internal_error(e.to_string(), None))
    }

    /// Decodes the state that a client sent back.
    ///
    /// # Errors
    /// When this server did not encode the state.
    pub(crate) fn unseal(&self, sealed: &str) -> Result<Value, ErrorData> {
        self.state_codec.open_json(sealed).map_err(|_| {
            ErrorData::invalid_params("this state was not issued by this server", None)
        })
    }
}

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerInfo {
        let capabilities = ServerCapabilities::builder()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_resources_list_changed()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_completions()
            .enable_logging()
            .enable_tasks()
            .build();
        ServerInfo::new(capabilities)
            .with_server_info(Implementation::new("brain-conformance", env!("CARGO_PKG_VERSION")))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        (name == tools::WITH_HEADER).then(tools::with_header)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let result = ListToolsResult { tools: tools::all(), ..Default::default() };
        Ok(result.with_ttl_ms(CACHE_TTL_MS).with_cache_scope(CacheScope::Public))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        tools::call(self, request, &context).await
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let result = ListResourcesResult { resources: resources::all(), ..Default::default() };
        Ok(result.with_ttl_ms(CACHE_TTL_MS).with_cache_scope(CacheScope::Public))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = resources::templates();
        let result =
            ListResourceTemplatesResult { resource_templates: templates, ..Default::default() };
        Ok(result.with_ttl_ms(CACHE_TTL_MS).with_cache_scope(CacheScope::Public))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let contents = resources::read(&request.uri)?;
        Ok(contents.with_ttl_ms(CACHE_TTL_MS).with_cache_scope(CacheScope::Public).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let result = ListPromptsResult { prompts: prompts::all(), ..Default::default() };
        Ok(result.with_ttl_ms(CACHE_TTL_MS).with_cache_scope(CacheScope::Public))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        prompts::get(&request)
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let values = vec!["paris".to_owned(), "park".to_owned(), "party".to_owned()];
        let completion =
            CompletionInfo::new(values).map_err(|e| ErrorData::internal_error(e, None))?;
        Ok(CompleteResult::new(completion))
    }

    async fn subscribe(
        &self,
        _: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    // The fixture logs all levels, so the level changes nothing.
    async fn set_level(
        &self,
        _: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let key = self.listener_table.next_key.fetch_add(1, Ordering::Relaxed);
        self.lock_listeners().insert(key, context.sink().clone());
        context.cancelled().await;
        self.lock_listeners().remove(&key);
        Ok(())
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        Ok(GetTaskResult::new(self.tasks.get_task(&request.task_id)?))
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.tasks.update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.tasks.cancel_task(&request.task_id)
    }
}
