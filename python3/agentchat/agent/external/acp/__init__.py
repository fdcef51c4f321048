"""A chat with an agent of another program, over the Agent Client Protocol (ACP).

Theory
======

``agent/external`` has two doors. Through the one, an agent *visits*: it talks to its user
elsewhere, and its calls of our tools (MCP) are judged, asked and run here; it is the model of a
chat with ready-made replies. Through this one, an agent *works in our chat*: our user talks to it,
and it acts by itself with tools of its own, which are unknown to us. The rest of the plugin
sees the same parts either way: a chat, a session with one queue, turns, a journal, a view.

=============  ==================================================================================
word           of an agent that acts by itself
=============  ==================================================================================
turn           one ``session/prompt``, from the user's message to its answer. Never two at once:
               what is sent meanwhile is the next turn
reply          its text and thoughts up to where a call begins or ends
call           what it reports that it does (``tool_call``). We run nothing: a call here is a
               description, written as the arguments of a tool of ``calls``, which has no steps
result         the last update of a call. One that never comes is *no result*
question       ``session/request_permission``. The described call is located and judged by our
               policy as any other, and shown in the same approval float, whose answer becomes
               one of the agent's options
file           what it reads and writes through us (``fs/…``) goes through the chat's workspace;
               what it writes by itself, we do not see before
=============  ==================================================================================

So the agent is a *model* where that is true: ``ChatAgent.ask`` returns its next reply, which the
interpreter streams, journals and shows. It is none where it is not: a plan of its own
(``agent_turn``) judges and runs no calls, because they are over when they are known.
Questions come in the middle of a reply, so they are no effects of that plan; they go straight to
the chat's ``Approvals``, whose queue has the order of their arrival.

Processes
=========

Each chat has a worker (``worker``), which speaks the protocol with the SDK and owns the agent's
process; the host never imports the SDK. The worker ends when its connection to the host does, and
takes the agent's whole tree with it, whatever ended the host. What the agent sends is foreign: the
worker passes it on as it is, and ``calls`` reads of it what fits.
"""
